// Package status stands in the place of the content: it answers with what the process tells of itself. stub_status gives the numbers of
// its connections, in the form that programs which watch nginx read, metrics everything that is counted, as Prometheus reads it, and
// health whether the process lives and should get requests. It counts nothing itself.
package status
