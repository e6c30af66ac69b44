package sqllimit

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"testing"
	"time"

	"github.com/limitgate/limitgate"
)

// A driver that panics keeps no place, whatever it was doing.
func TestDriversThatPanicKeepNoPlace(t *testing.T) {
	for call, do := range map[string]func(c driver.Conn){
		"Commit":       func(c driver.Conn) { _ = beginTx(c).Commit() },
		"Rollback":     func(c driver.Conn) { _ = beginTx(c).Rollback() },
		"Close":        func(c driver.Conn) { beginTx(c); _ = c.Close() },
		"BeginTx":      func(c driver.Conn) { beginTx(c) },
		"Rows.Close":   func(c driver.Conn) { _ = query(c).Close() },
		"QueryContext": func(c driver.Conn) { query(c) },
		"ExecContext": func(c driver.Conn) {
			_, _ = c.(driver.ExecerContext).ExecContext(context.Background(), "INSERT", nil)
		},
	} {
		t.Run(call, func(t *testing.T) {
			conn := limiter(t, limitgate.Conn{Limit: 1})
			var ended []error
			seen := limiter(t, limitgate.Token{Rate: limitgate.PerDay(1), Capacity: 100})
			classes := []Class{Transaction, Read, Write}
			m := with(t, Config{Limits: []Limit{
				{Limiter: conn, Key: Everybody, Classes: classes},
				{Limiter: seen, Key: Everybody, Classes: classes, Counts: func(o Outcome) bool { ended = append(ended, o.Err); return true }},
			}})
			c, err := m.Wrap(&fake{panics: call}).Connect(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			func() {
				defer func() {
					if recover() == nil {
						t.Error("nothing panicked")
					}
				}()
				do(c)
			}()
			if got := free(t, conn, "*"); got != 1 {
				t.Errorf("got %d places free, want 1", got)
			}
			if call != "Close" && (len(ended) != 1 || !errors.Is(ended[0], errPanicked)) { // of a connection that is closed nothing is known
				t.Errorf("got outcomes %v, want that it panicked", ended)
			}
		})
	}
}

func beginTx(c driver.Conn) driver.Tx {
	tx, err := c.(driver.ConnBeginTx).BeginTx(context.Background(), driver.TxOptions{})
	if err != nil {
		panic(err)
	}
	return tx
}

func query(c driver.Conn) driver.Rows {
	r, err := c.(driver.QueryerContext).QueryContext(context.Background(), "SELECT", nil)
	if err != nil {
		panic(err)
	}
	return r
}

// What goes wrong behind the first rows is how the query ended.
func TestOutcomeOfAQueryIsWhatItsRowsGive(t *testing.T) {
	for _, call := range []string{"Next", "NextResultSet", "Rows.Close"} {
		var ended []error
		m := with(t, Config{Limits: []Limit{{
			Limiter: limiter(t, limitgate.Token{Rate: limitgate.PerDay(1), Capacity: 100}), Key: Everybody,
			Counts: func(o Outcome) bool { ended = append(ended, o.Err); return true },
		}}})
		c, err := m.Wrap(&fake{rows: 1, fails: map[string]error{call: errFake}}).Connect(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		r := query(c)
		_ = r.Next(make([]driver.Value, 1))
		_ = r.(driver.RowsNextResultSet).NextResultSet()
		_ = r.Close()
		if len(ended) != 1 || !errors.Is(ended[0], errFake) {
			t.Errorf("%s: got outcomes %v, want the error of the database", call, ended)
		}
	}
}

// A wait that breaks off for a reason of its own lets nothing pass.
func TestASleepThatFailsLetsNothingPass(t *testing.T) {
	stopped := errors.New("stopped")
	f := &fake{}
	db := sql.OpenDB(with(t, Config{
		Limits: []Limit{{Limiter: limiter(t, limitgate.Req{Rate: limitgate.PerDay(1), Burst: 5}), Key: Everybody}},
		Sleep: func(_ context.Context, now limitgate.Time, _ time.Duration) (limitgate.Time, error) {
			return now, stopped
		},
	}).Wrap(f))
	defer db.Close()
	if _, err := db.Exec("INSERT"); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec("INSERT"); !errors.Is(err, stopped) {
		t.Errorf("got %v, want the error of the wait", err)
	}
}

// A function of the caller's that panics leaves no other limit unsettled.
func TestLimitsBehindAPanicAreSettled(t *testing.T) {
	one := limitgate.Token{Rate: limitgate.PerDay(1), Capacity: 5}
	first, second, conn := limiter(t, one), limiter(t, one), limiter(t, limitgate.Conn{Limit: 1})
	c, err := with(t, Config{Limits: []Limit{
		{Limiter: first, Key: Everybody, Counts: func(Outcome) bool { panic("boom") }},
		{Limiter: second, Key: Everybody, Counts: Failed},
		{Limiter: conn, Key: Everybody},
	}}).Wrap(&fake{}).Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	func() {
		defer func() {
			if recover() != "boom" {
				t.Error("the panic is not the caller's")
			}
		}()
		_, _ = c.(driver.ExecerContext).ExecContext(t.Context(), "INSERT", nil)
	}()
	if n, p := free(t, second, "*"), free(t, conn, "*"); n != 5 || p != 1 {
		t.Errorf("got %d statements and %d places left, want 5 and 1", n, p)
	}
}
