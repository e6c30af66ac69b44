// Package shape has a location's last word on a response: the fields of add_header, and the pace of limit_rate. It stands
// between whatever makes an answer and the edge that sends it; it makes no answer and changes no byte of a body.
//
// The pace is smooth: bytes flow evenly from the first on, where nginx counts whole seconds and gives the first one away.
// Over any two seconds a response stays within 5 % of its rate, as far as whole bytes allow.
package shape
