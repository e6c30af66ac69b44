// Package shape is the chain of filters between whatever makes an answer and the edge that sends it: the conditions of the
// request, the fields of expires and add_header, trailers, compression, ranges, and the pace of limit_rate. A scope has those
// that its directives ask for, in nginx's order. It makes no answer; of what it may refuse, the program makes the page.
//
// A filter is a step of the head, and where it changes the body it puts a request.Filter on the body's way. Conditions and
// ranges stand in every scope and look at two flags of an answer that has nothing to do with them.
//
// The pace is smooth: bytes flow evenly from the first on, where nginx counts whole seconds and gives the first one away.
// Over any two seconds a response stays within 5 % of its rate, as far as whole bytes allow.
package shape
