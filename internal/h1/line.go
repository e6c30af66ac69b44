package h1

// Classes of the bytes of a request target.
const (
	uriPlain   = iota
	uriSlash   // "//" and the like need normalising
	uriDot     // so does "/."
	uriPercent // so does a quoted byte
	uriQuery
	uriHash
	uriEnd     // space, CR, LF
	uriRefused // other control bytes and DEL
)

var uriClass = buildURIClass()

func buildURIClass() (t [256]uint8) {
	for c := range 0x20 {
		t[c] = uriRefused
	}
	t[0x7f] = uriRefused
	t['/'], t['.'], t['%'], t['?'], t['#'] = uriSlash, uriDot, uriPercent, uriQuery, uriHash
	t[' '], t['\r'], t['\n'] = uriEnd, uriEnd, uriEnd
	return t
}

// lineState is where in a request line the parser stands.
type lineState uint8

const (
	lineStart lineState = iota
	lineMethod
	lineSpaces
	lineScheme
	lineSchemeSlash
	lineSchemeSlash2
	lineHostStart
	lineHost
	lineLiteral
	lineHostEnd
	linePort
	linePortMore
	lineURI
	lineArgs
	lineAfterURI
	lineProtocol
	lineMajor
	lineMajorMore
	lineMinor
	lineMinorMore
	lineSpacesAfter
	lineCR
)

// lineParser reads a request line (ngx_http_parse_request_line). Its spans are relative to the buffer's start.
type lineParser struct {
	line, method, target, protocol Span
	host                           Span  // of an absolute or authority form, with port
	args                           int32 // where the arguments begin, 0: none
	schemeEnd                      int32
	pos                            int32
	major, minor                   int16
	state                          lineState
	verb                           method
	complex                        bool // the path must be normalised
	hasHost                        bool
}

// next reads on until the line or b ends.
func (p *lineParser) next(b []byte) verdict {
	for {
		v := goOn
		switch p.state {
		case lineStart:
			v = p.scanStart(b)
		case lineMethod:
			v = p.scanMethod(b)
		case lineSpaces:
			v = p.scanSpaces(b)
		case lineScheme, lineSchemeSlash, lineSchemeSlash2:
			v = p.scanScheme(b)
		case lineHostStart, lineHost, lineLiteral, lineHostEnd, linePort, linePortMore:
			v = p.scanAuthority(b)
		case lineURI:
			v = p.scanURI(b)
		case lineArgs:
			v = p.scanArgs(b)
		case lineAfterURI, lineProtocol:
			v = p.scanProtocol(b)
		default:
			v = p.scanVersion(b)
		}
		if v != goOn {
			return v
		}
	}
}

// scanStart passes over empty lines before the request (nginx takes any number of CR and LF).
func (p *lineParser) scanStart(b []byte) verdict {
	i := int(p.pos)
	for i < len(b) && (b[i] == '\r' || b[i] == '\n') {
		i++
	}
	p.pos, p.line.Start = int32(i), int32(i)
	if i == len(b) {
		return needMore
	}
	p.method.Start = int32(i)
	p.state = lineMethod
	return p.scanMethod(b)
}

func (p *lineParser) scanMethod(b []byte) verdict {
	i := int(p.pos)
	for i < len(b) && (b[i] >= 'A' && b[i] <= 'Z' || b[i] == '_' || b[i] == '-') {
		i++
	}
	p.pos = int32(i)
	if i == len(b) {
		return needMore
	}
	if b[i] != ' ' || i == int(p.method.Start) {
		return badMethod
	}
	p.method.End = int32(i)
	p.verb = lookupMethod(p.method.Of(b))
	p.state = lineSpaces
	return goOn
}

func (p *lineParser) scanSpaces(b []byte) verdict {
	i := int(p.pos)
	for i < len(b) && b[i] == ' ' {
		i++
	}
	p.pos = int32(i)
	if i == len(b) {
		return needMore
	}
	c := b[i]
	switch {
	case p.verb == methodConnect:
		p.state = lineHostStart
	case c == '/':
		p.target.Start = int32(i)
		p.state = lineURI
	case c|0x20 >= 'a' && c|0x20 <= 'z':
		p.state = lineScheme
	default:
		return badRequest
	}
	return goOn
}

func (p *lineParser) scanScheme(b []byte) verdict {
	for i := int(p.pos); i < len(b); i++ {
		c := b[i]
		switch p.state {
		case lineScheme:
			if nameClass[c] == namePlain || c == '+' || c == '.' {
				continue
			}
			if c != ':' {
				return badRequest
			}
			p.schemeEnd = int32(i)
			p.state = lineSchemeSlash
		case lineSchemeSlash:
			if c != '/' {
				return badRequest
			}
			p.state = lineSchemeSlash2
		default:
			if c != '/' {
				return badRequest
			}
			p.pos, p.state = int32(i+1), lineHostStart
			return goOn
		}
	}
	p.pos = int32(len(b))
	return needMore
}

// scanAuthority reads the host and port of an absolute form or of CONNECT.
func (p *lineParser) scanAuthority(b []byte) verdict {
	for i := int(p.pos); i < len(b); i++ {
		c := b[i]
		switch p.state {
		case lineHostStart:
			p.host.Start = int32(i)
			p.state = lineHost
			if c == '[' {
				p.state = lineLiteral
				continue
			}
		case lineLiteral:
			if c == ']' {
				p.state = lineHostEnd
			} else if k := hostClass[c]; (k == hostRefused || k == hostPercent) && c != ':' {
				return badRequest
			}
			continue
		case linePort:
			p.state = linePortMore
			if p.verb == methodConnect && (c < '0' || c > '9') {
				return badRequest
			}
		}
		if p.state == lineHost && (nameClass[c] == namePlain || c == '.') {
			continue
		}
		if p.state == linePortMore {
			if c >= '0' && c <= '9' {
				continue
			}
		} else if c == ':' {
			p.state = linePort
			continue
		} else if p.verb == methodConnect {
			return badRequest
		}
		return p.endAuthority(i, c)
	}
	p.pos = int32(len(b))
	return needMore
}

// endAuthority decides what follows the host that ends before the byte c at i.
func (p *lineParser) endAuthority(i int, c byte) verdict {
	p.host.End, p.hasHost = int32(i), true
	p.pos = int32(i)
	if p.verb == methodConnect {
		if c != ' ' {
			return badRequest
		}
		p.state = lineAfterURI
		return goOn
	}
	switch c {
	case '/':
		p.target.Start = int32(i)
		p.state = lineURI
	case '?':
		p.target.Start = int32(i)
		p.pos, p.args = int32(i+1), int32(i+1)
		p.complex = true
		p.state = lineArgs
	case ' ':
		// The target is "/": nginx too borrows the slash of "://" for it.
		p.target = Span{p.schemeEnd + 1, p.schemeEnd + 2}
		p.state = lineAfterURI
	default:
		return badRequest
	}
	return goOn
}

// scanURI reads the path of the target and notes whether it needs normalising.
func (p *lineParser) scanURI(b []byte) verdict {
	i := int(p.pos)
	for i < len(b) {
		k := uriClass[b[i]]
		if k == uriPlain {
			i++
			continue
		}
		switch k {
		case uriSlash, uriDot:
			// The byte before is there: at the path's first slash it is a space or part of the host.
			if b[i-1] == '/' && i > int(p.target.Start) {
				p.complex = true
			}
		case uriPercent, uriHash:
			p.complex = true
		case uriQuery:
			p.args, p.pos, p.state = int32(i+1), int32(i+1), lineArgs
			return p.scanArgs(b)
		case uriEnd:
			p.target.End, p.pos, p.state = int32(i), int32(i), lineAfterURI
			return p.scanProtocol(b)
		default:
			return badRequest
		}
		i++
	}
	p.pos = int32(i)
	return needMore
}

// scanArgs reads the arguments of the target.
func (p *lineParser) scanArgs(b []byte) verdict {
	for i := int(p.pos); i < len(b); i++ {
		k := uriClass[b[i]]
		if k < uriHash {
			continue
		}
		switch k {
		case uriHash:
			p.complex = true
		case uriEnd:
			p.target.End, p.pos, p.state = int32(i), int32(i), lineAfterURI
			return p.scanProtocol(b)
		default:
			return badRequest
		}
	}
	p.pos = int32(len(b))
	return needMore
}

// scanProtocol reads "HTTP/" behind the target, or sees that the line ends there: HTTP/0.9.
func (p *lineParser) scanProtocol(b []byte) verdict {
	const name = "HTTP/"
	i := int(p.pos)
	if p.state == lineAfterURI {
		for i < len(b) && b[i] == ' ' {
			i++
		}
		p.pos = int32(i)
		if i == len(b) {
			return needMore
		}
		if b[i] == '\r' || b[i] == '\n' {
			p.minor = 9
			p.state = lineSpacesAfter
			return goOn
		}
		p.protocol.Start = int32(i)
		p.state = lineProtocol
		if len(b)-i >= 10 && string(b[i:i+7]) == "HTTP/1." && (b[i+7] == '1' || b[i+7] == '0') && b[i+8] == '\r' && b[i+9] == '\n' {
			p.major, p.minor = 1, int16(b[i+7]-'0')
			return p.end(i+8, i+10)
		}
	}
	for ; i < len(b); i++ {
		k := i - int(p.protocol.Start)
		if b[i] != name[k] {
			return badRequest
		}
		if k == len(name)-1 {
			p.pos, p.state = int32(i+1), lineMajor
			if p.verb == methodConnect {
				p.target = span(i, i+1) // "/", borrowed as above
			}
			return goOn
		}
	}
	p.pos = int32(i)
	return needMore
}

// scanVersion reads the version and the end of the line.
func (p *lineParser) scanVersion(b []byte) verdict {
	for i := int(p.pos); i < len(b); i++ {
		c := b[i]
		digit := c >= '0' && c <= '9'
		switch p.state {
		case lineMajor:
			if c < '1' || c > '9' {
				return badRequest
			}
			p.state = lineMajorMore
			if p.major = int16(c - '0'); p.major > 1 {
				return badVersion
			}
		case lineMajorMore:
			if c == '.' {
				p.state = lineMinor
			} else if !digit {
				return badRequest
			} else {
				return badVersion // the first digit was 1, so this makes it at least 10
			}
		case lineMinor:
			if !digit {
				return badRequest
			}
			p.minor, p.state = int16(c-'0'), lineMinorMore
		case lineMinorMore, lineSpacesAfter:
			switch {
			case c == ' ':
				p.state = lineSpacesAfter
			case c == '\r':
				p.state = lineCR
			case c == '\n':
				return p.end(i, i+1)
			case !digit || p.state == lineSpacesAfter || p.minor > 99:
				return badRequest
			default:
				p.minor = p.minor*10 + int16(c-'0')
			}
		case lineCR:
			if c != '\n' {
				return badRequest
			}
			return p.end(i-1, i+1)
		}
	}
	p.pos = int32(len(b))
	return needMore
}

// end completes the line. As in nginx the line and the protocol keep spaces that stand before the line end.
func (p *lineParser) end(lineEnd, next int) verdict {
	p.line.End = int32(lineEnd)
	if p.major > 0 {
		p.protocol.End = int32(lineEnd)
	}
	p.pos = int32(next)
	if p.major == 0 && p.verb != methodGet {
		return bad09
	}
	return lineDone
}
