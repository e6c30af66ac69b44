package h1

// Rules are the directives of a server that decide how a request head is read. The zero value is nginx's defaults.
type Rules struct {
	FirstBuffer  int  // client_header_buffer_size; 0: 1024
	LargeBuffer  int  // size of large_client_header_buffers; 0: 8192
	LargeBuffers int  // their number; 0: 4
	MaxHeaders   int  // max_headers; 0: 1000
	Underscores  bool // underscores_in_headers on
	KeepInvalid  bool // ignore_invalid_headers off
	KeepSlashes  bool // merge_slashes off
}

func (r *Rules) firstBuffer() int32  { return orDefault(r.FirstBuffer, 1024) }
func (r *Rules) largeBuffer() int32  { return orDefault(r.LargeBuffer, 8192) }
func (r *Rules) largeBuffers() int32 { return orDefault(r.LargeBuffers, 4) }
func (r *Rules) maxHeaders() int     { return int(orDefault(r.MaxHeaders, 1000)) }

func orDefault(n, d int) int32 {
	if n == 0 {
		return int32(d)
	}
	return int32(n)
}

// headRoom counts the buffers nginx would use for a head (ngx_http_alloc_large_header_buffer). A line must fit into one
// buffer; one that doesn't end in its buffer moves to the start of the next. The offset of the current buffer's end
// depends on the lines alone, not on how bytes arrived.
type headRoom struct {
	end  int32 // where the current buffer ends
	used int32 // large buffers in use
}

// more gets room for the line that began at start and reports whether there is any.
func (h *headRoom) more(start int32, rules *Rules) bool {
	if h.end-start >= rules.largeBuffer() || h.used == rules.largeBuffers() {
		return false
	}
	h.used++
	h.end = start + rules.largeBuffer()
	return true
}
