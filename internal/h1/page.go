package h1

// pageTexts are the pages whose words are not those of the status line (ngx_http_special_response.c). The 49x codes are
// nginx's own: they are answered as 400 and say what is wrong in a second line.
var pageTexts = [600]string{
	302: "302 Found",
	401: "401 Authorization Required",
	494: "Request Header Or Cookie Too Large",
	495: "The SSL certificate error",
	496: "No required SSL certificate was sent",
	497: "The plain HTTP request was sent to HTTPS port",
	498: "404 Not Found",
}

// PagePadding is what nginx puts behind a page for browsers that hide short ones, see WantsPadding (msie_padding).
const PagePadding = paddingLine + paddingLine + paddingLine + paddingLine + paddingLine + paddingLine

const paddingLine = "<!-- a padding to disable MSIE and Chrome friendly error page -->\r\n"

// AnswerStatus is the status a code is answered with: 400 for nginx's own 494 to 497, else the code itself.
func AnswerStatus(code int) int {
	if code >= 494 && code <= 497 {
		return 400
	}
	return code
}

// AppendPage writes nginx's default page for a code, signed with server. It writes nothing for the codes that have no
// page: their answers are empty.
func AppendPage(dst []byte, code int, server string) []byte {
	text, note := pageText(code)
	if text == "" {
		return dst
	}
	title := text
	if note != "" {
		title = "400 " + note
	}
	dst = append(dst, "<html>\r\n<head><title>"...)
	dst = append(dst, title...)
	dst = append(dst, "</title></head>\r\n<body>\r\n<center><h1>"...)
	dst = append(dst, text...)
	dst = append(dst, "</h1></center>\r\n"...)
	if note != "" {
		dst = append(dst, "<center>"...)
		dst = append(dst, note...)
		dst = append(dst, "</center>\r\n"...)
	}
	dst = append(dst, "<hr><center>"...)
	dst = append(dst, server...)
	return append(dst, "</center>\r\n</body>\r\n</html>\r\n"...)
}

func pageText(code int) (text, note string) {
	switch {
	case code < 301 || code >= len(pageTexts) || code == 304:
		return "", ""
	case AnswerStatus(code) != code:
		return "400 " + reasons[400], pageTexts[code]
	case pageTexts[code] != "":
		return pageTexts[code], ""
	case reasons[code] != "":
		return string([]byte{byte('0' + code/100), byte('0' + code/10%10), byte('0' + code%10), ' '}) + reasons[code], ""
	}
	return "", ""
}

// ServerName is how the Server header and the pages name the server: with its version when server_tokens is on.
func ServerName(version string, tokens bool) string {
	if tokens && version != "" {
		return "limitgate/" + version
	}
	return "limitgate"
}

// WantsPadding tells whether nginx pads pages of status 400 and above for this User-Agent. Clients of HTTP/0.9 get no
// padding.
func WantsPadding(userAgent []byte) bool { return ReadAgent(userAgent).Pads }
