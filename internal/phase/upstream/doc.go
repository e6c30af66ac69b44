// Package upstream is the content phase of proxy_pass and grpc_pass: it sends a request to a peer of an upstream, goes on to
// another peer where nginx would, and streams the answer back. It decides nothing about who may pass, keeps no answer, and
// leaves the location's last word on the head to the shaper.
//
// A [Set] belongs to one running configuration and owns its idle connections. A [Handler] is one scope's proxy_pass and its
// proxy_* directives, or its grpc_pass and grpc_*: peers, failures and what becomes of an answer are the same for both; how a
// call goes out and its answer comes in stands in the files named so. The state of one request is an exchange, which is used
// again by the next.
package upstream
