// Package static is the content phase of what no proxy_pass answers: files below root or alias. It opens, describes and
// streams files; it lists no folders, writes nothing, and follows no path out of its root.
package static
