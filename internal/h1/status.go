package h1

// statusState is where in a status line a statusParser stands.
type statusState uint8

const (
	statusProtocol statusState = iota
	statusMajor
	statusMajorMore
	statusMinor
	statusMinorMore
	statusCode
	statusAfterCode
	statusText
	statusCR
)

// statusParser reads the status line of a response (ngx_http_parse_status_line).
type statusParser struct {
	pos          int32
	text         Span // code and reason
	major, minor int16
	code         int16
	digits       uint8
	state        statusState
}

// next reads on until the line or b ends. Any verdict but needMore and lineDone means that it is no status line.
func (p *statusParser) next(b []byte) verdict {
	for i := int(p.pos); i < len(b); i++ {
		c := b[i]
		switch p.state {
		case statusCode:
			if c == ' ' && p.digits == 0 {
				continue
			}
			if !p.codeDigit(c, i) {
				return badRequest
			}
		case statusAfterCode:
			switch c {
			case ' ', '.': // IIS sends 403.1 and the like
				p.state = statusText
			case '\r':
				p.state = statusCR
			case '\n':
				return p.end(i, i+1)
			default:
				return badRequest
			}
		case statusText:
			for i < len(b) && b[i] != '\r' && b[i] != '\n' {
				i++
			}
			if i == len(b) {
				break
			}
			if b[i] == '\n' {
				return p.end(i, i+1)
			}
			p.state = statusCR
		case statusCR:
			if c != '\n' {
				return badRequest
			}
			return p.end(i-1, i+1)
		default:
			if !p.version(c, i) {
				return badRequest
			}
		}
	}
	p.pos = int32(len(b))
	return needMore
}

// version takes one byte of "HTTP/1.1 ".
func (p *statusParser) version(c byte, i int) bool {
	const name = "HTTP/"
	digit := c >= '0' && c <= '9'
	switch p.state {
	case statusProtocol:
		if i == len(name)-1 {
			p.state = statusMajor
		}
		return c == name[i]
	case statusMajor:
		p.major, p.state = int16(c-'0'), statusMajorMore
		return digit && c != '0'
	case statusMajorMore:
		if c == '.' {
			p.state = statusMinor
			return true
		}
		ok := digit && p.major <= 99
		p.major = p.major*10 + int16(c-'0')
		return ok
	case statusMinor:
		p.minor, p.state = int16(c-'0'), statusMinorMore
		return digit
	default:
		if c == ' ' {
			p.state = statusCode
			return true
		}
		ok := digit && p.minor <= 99
		p.minor = p.minor*10 + int16(c-'0')
		return ok
	}
}

// codeDigit takes one digit of the code at i.
func (p *statusParser) codeDigit(c byte, i int) bool {
	if c < '0' || c > '9' {
		return false
	}
	p.code = p.code*10 + int16(c-'0')
	if p.digits++; p.digits == 3 {
		p.text.Start = int32(i - 2)
		p.state = statusAfterCode
	}
	return true
}

func (p *statusParser) end(textEnd, next int) verdict {
	p.text.End, p.pos = int32(textEnd), int32(next)
	return lineDone
}
