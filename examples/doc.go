// Package examples runs every example of this folder, as a user would.
package examples
