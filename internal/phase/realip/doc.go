// Package realip finds out who the client is, where proxies stand in front: set_real_ip_from, real_ip_header and
// real_ip_recursive. It is the first phase of a request, and where a location has other settings, it stands once more in
// front of the limits. It changes the request's client address and nothing else, and it never refuses a request.
package realip
