// Package access decides by address whether a request may go on: allow and deny. It stands behind the limits, so that
// they see the requests it refuses, and before the content; it knows no users and no passwords.
package access
