// Package record writes the access log: access_log and log_format. It is the last phase of a request, when the answer is
// out; whatever goes wrong in it is said in the error log and never reaches the request.
package record
