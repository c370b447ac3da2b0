// Package adk answers clients of Google's ADK: the production routes of adk-python 2.5 below /adk. A session is a
// conversation, and a user's name in a path counts only within what the credential may see. docs/guide/adk.md lists the
// routes.
package adk
