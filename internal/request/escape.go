package request

// pathEscapes has a bit for each ASCII byte that is escaped in the path of a URL (ngx_escape_uri, NGX_ESCAPE_URI); all bytes
// above ASCII are.
var pathEscapes = [4]uint32{0xffffffff, 0xd000002d, 0x50000000, 0xb8000001}

// argumentEscapes is the same for what becomes part of the arguments (NGX_ESCAPE_ARGS).
var argumentEscapes = [4]uint32{0xffffffff, 0xd800086d, 0x50000000, 0xb8000001}

// AppendArgument appends a text as it is written in the arguments of a URL.
func AppendArgument(dst, text []byte) []byte {
	for _, c := range text {
		if c >= 0x80 || argumentEscapes[c/32]&(1<<(c%32)) != 0 {
			dst = AppendEscape(dst, c)
		} else {
			dst = append(dst, c)
		}
	}
	return dst
}

// AppendPath appends a decoded path as it is written in a URL.
func AppendPath(dst, path []byte) []byte {
	for _, c := range path {
		if c >= 0x80 || pathEscapes[c/32]&(1<<(c%32)) != 0 {
			dst = AppendEscape(dst, c)
		} else {
			dst = append(dst, c)
		}
	}
	return dst
}

// AppendEscape appends a byte as %XX.
func AppendEscape(dst []byte, c byte) []byte {
	const digits = "0123456789ABCDEF"
	return append(dst, '%', digits[c>>4], digits[c&15])
}
