// Package proxyproto reads the PROXY protocol header, version 1 and 2, that a load balancer puts before a connection's
// own bytes. It only reads bytes it is given: whom to believe is decided elsewhere.
package proxyproto
