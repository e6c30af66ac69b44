// Package access decides whether a request may go on: by the client's address with allow and deny, by a password with
// auth_basic, and by what another location says with auth_request. It stands behind the limits, so that they see the requests it
// refuses, and before the content; it keeps no passwords and remembers nobody.
package access
