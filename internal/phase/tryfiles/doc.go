// Package tryfiles looks for the files that a scope names with try_files, and sends the request on to the first that is
// there. It stands behind the access checks and before the content; it reads no file and answers nothing but its =CODE.
package tryfiles
