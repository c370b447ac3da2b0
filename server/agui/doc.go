// Package agui answers user interfaces that speak AG-UI 1.0: one path, POST /agui, which an HttpAgent of @ag-ui/client
// is given as its url. docs/guide/agui.md says what of the protocol it takes.
package agui
