// Package mirror sends copies of a request to other locations. It stands behind all that may refuse the request and before the
// content, reads the request's body, so that the copies have it, and waits for none of them.
package mirror
