// Package agui writes the events of a run as those of AG-UI, the protocol between agents and user interfaces
// (https://docs.ag-ui.com). The rules are those of protocol version 1.0, as the packages @ag-ui/core and @ag-ui/client
// 1.0.0 hold them: the types of the events, and the order that verifyEvents of the client asks for.
//
// docs/guide/agui.md says what becomes of each event.
package agui
