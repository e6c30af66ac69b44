package syntax

import "bytes"

// luaBlock is how the names of directives end whose block is Lua, in OpenResty. No directive of nginx ends so.
const luaBlock = "_by_lua_block"

// lua passes the text of a block in Lua, whose "{" was taken, up to the "}" that closes it, by the rules of Lua's own lexer:
// braces in strings and comments count for nothing. It reports whether it found the end; if not, nothing was passed.
func (l *lexer) lua() bool {
	end, ok := luaEnd(l.src[l.at:])
	if !ok {
		return false
	}
	for to := l.at + end; l.at < to; {
		l.step()
	}
	return true
}

// luaEnd returns where the "}" stands that closes a block of Lua.
func luaEnd(src []byte) (int, bool) {
	depth := 0
	for i := 0; i < len(src); {
		switch c := src[i]; c {
		case '{':
			depth++
		case '}':
			if depth == 0 {
				return i, true
			}
			depth--
		case '"', '\'':
			i = luaString(src, i)
			continue
		case '[':
			if end, long := luaLong(src, i); long {
				i = end
				continue
			}
		case '-':
			if bytes.HasPrefix(src[i:], []byte("--")) {
				i = luaComment(src, i)
				continue
			}
		}
		i++
	}
	return 0, false
}

// luaString returns where a string ends that begins at i: at its quote, or where the line ends, which is a fault of the Lua that
// shall hide no more than the line.
func luaString(src []byte, i int) int {
	quote := src[i]
	for i++; i < len(src); i++ {
		switch src[i] {
		case '\\':
			i++
		case quote, '\n':
			return i + 1
		}
	}
	return len(src)
}

// luaComment returns where a comment ends that begins at i: with its long bracket, or with the line.
func luaComment(src []byte, i int) int {
	i += len("--")
	if end, long := luaLong(src, i); long {
		return end
	}
	if n := bytes.IndexByte(src[i:], '\n'); n >= 0 {
		return i + n
	}
	return len(src)
}

// luaLong returns where a long bracket ends that begins at i, such as [==[ ... ]==], and whether one begins there.
func luaLong(src []byte, i int) (int, bool) {
	if i >= len(src) || src[i] != '[' {
		return 0, false
	}
	level := 0
	for i++; i < len(src) && src[i] == '='; i++ {
		level++
	}
	if i >= len(src) || src[i] != '[' {
		return 0, false
	}
	closing := append(append([]byte{']'}, bytes.Repeat([]byte{'='}, level)...), ']')
	n := bytes.Index(src[i+1:], closing)
	if n < 0 {
		return len(src), true
	}
	return i + 1 + n + len(closing), true
}
