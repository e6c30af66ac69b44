package h1

// Method is a request method nginx knows by name; MethodOther is any other token.
type Method uint8

// The methods.
const (
	MethodOther Method = iota
	MethodGet
	MethodHead
	MethodPost
	MethodPut
	MethodDelete
	MethodMkcol
	MethodCopy
	MethodMove
	MethodOptions
	MethodPropfind
	MethodProppatch
	MethodLock
	MethodUnlock
	MethodPatch
	MethodTrace
	MethodConnect
)

// LookupMethod returns the method a token names. Methods are case-sensitive.
func LookupMethod(token []byte) Method {
	switch string(token) {
	case "GET":
		return MethodGet
	case "HEAD":
		return MethodHead
	case "POST":
		return MethodPost
	case "PUT":
		return MethodPut
	case "DELETE":
		return MethodDelete
	case "MKCOL":
		return MethodMkcol
	case "COPY":
		return MethodCopy
	case "MOVE":
		return MethodMove
	case "OPTIONS":
		return MethodOptions
	case "PROPFIND":
		return MethodPropfind
	case "PROPPATCH":
		return MethodProppatch
	case "LOCK":
		return MethodLock
	case "UNLOCK":
		return MethodUnlock
	case "PATCH":
		return MethodPatch
	case "TRACE":
		return MethodTrace
	case "CONNECT":
		return MethodConnect
	}
	return MethodOther
}
