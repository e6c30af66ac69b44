package h1

import (
	"net"
	"testing"
	"time"

	"github.com/limitgate/limitgate/internal/request"
)

// CutOff ends what was there before a turn, whatever it waits for, and lets a request that began since then finish.
func TestCutOff(t *testing.T) {
	bothWays(t, func(t *testing.T, wrap func(net.Conn) net.Conn) {
		leave := make(chan bool)
		_, srv, addr := open(t, wrap, func(s *site) {
			s.serve = func(r *request.Request) {
				if string(r.URI) == "/hold" {
					<-leave
				}
				demo(r)
			}
		})
		const get = "GET / HTTP/1.1\r\nHost: h\r\n\r\n"
		fresh, half, idle, asleep, renewed := dial(t, addr), dial(t, addr), dial(t, addr), dial(t, addr), dial(t, addr)
		half.send("GET /x HT")
		for _, c := range []*client{idle, renewed} {
			c.send(get)
			c.response()
		}
		asleep.send("GET /sleep?10s HTTP/1.1\r\nHost: h\r\n\r\n")
		eventually(t, time.Second, "all are there", func() bool { st := srv.Stats(); return st.Active == 5 && st.Writing == 1 && st.Reading == 1 })
		turn := srv.Turn()
		late := dial(t, addr)
		renewed.send("GET /hold HTTP/1.1\r\nHost: h\r\n\r\n")
		eventually(t, time.Second, "the new ones, too", func() bool { st := srv.Stats(); return st.Active == 6 && st.Writing == 2 })
		srv.CutOff(turn)
		for _, c := range []*client{fresh, half, idle, asleep} {
			c.eof()
		}
		close(leave)
		if _, body := renewed.response(); body == "" {
			t.Error("a request of the new turn: got no answer")
		}
		renewed.eof()
		late.send(get)
		late.response()
	})
}
