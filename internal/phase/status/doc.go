// Package status stands in the place of the content: it answers with the numbers of the process's connections (stub_status), in
// the form that programs which watch nginx read.
package status
