package h1

// method is a request method that the codec treats apart; methodOther is any other token.
type method uint8

const (
	methodOther method = iota
	methodGet          // the only one of HTTP/0.9
	methodConnect
	methodTrace
)

// lookupMethod returns the method a token names. Methods are case-sensitive.
func lookupMethod(token []byte) method {
	switch string(token) {
	case "GET":
		return methodGet
	case "CONNECT":
		return methodConnect
	case "TRACE":
		return methodTrace
	}
	return methodOther
}
