// Package door lets requests in. It finds out whose credential a request shows, and cuts
// off what goes on for long, such as a stream, when that credential ends.
//
// Every way into the server goes through one [Door]: the native API, its administration,
// and the doors of AgentCore.
package door
