package h1

import "fmt"

// DropMessage is what nginx logs, at info, for line i of Dropped.
func (r *Request) DropMessage(b []byte, i int) string {
	return fmt.Sprintf("client sent invalid header line: \"%s\"", r.Dropped[i].Of(b)) + readingHeaders
}

// DropMessage is what nginx logs, at warn, for line i of Dropped.
func (r *Response) DropMessage(b []byte, i int) string {
	h := r.Dropped[i]
	first, _ := r.Find(h.ID)
	return fmt.Sprintf(duplicateFormat+", ignored", h.Name.Of(b), h.Value.Of(b), first.Name.Of(b), first.Value.Of(b)) + readingUpstream
}
