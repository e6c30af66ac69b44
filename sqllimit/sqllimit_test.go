package sqllimit

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/racing"
	"github.com/limitgate/limitgate/memzone"
)

// open is a database of the fake driver behind a Middleware.
func open(t testing.TB, f *fake, m *Middleware) *sql.DB {
	db := sql.OpenDB(m.Wrap(f))
	t.Cleanup(func() { db.Close() })
	return db
}

func TestClassify(t *testing.T) {
	for text, want := range map[string]Class{
		"SELECT 1":                               Read,
		"  \n\tselect 1":                         Read,
		"(select 1) union (select 2)":            Read,
		"-- insert\nSELECT 1":                    Read,
		"/* insert /* nested */ still */ SELECT": Read,
		"# insert\nSELECT 1":                     Read,
		"Show tables":                            Read,
		"values (1)":                             Read,
		"EXPLAIN SELECT 1":                       Read,
		"EXPLAIN ANALYZE DELETE FROM t":          Write,
		"INSERT INTO t SELECT 1":                 Write,
		"update t set a = 1":                     Write,
		"DELETE FROM t":                          Write,
		"MERGE INTO t":                           Write,
		"COPY t FROM STDIN":                      Write,
		"WITH a AS (SELECT 1) SELECT * FROM a":   Read,
		"WITH a AS (SELECT 1) INSERT INTO t SELECT * FROM a":             Write,
		"WITH a AS (DELETE FROM t RETURNING *) SELECT * FROM a":          Write,
		"WITH a AS (SELECT 'delete', \"update\", `merge`) SELECT 1":      Read,
		"WITH a AS (SELECT 'it''s; delete') SELECT 1":                    Read,
		"WITH a AS (SELECT $x$ insert $x$, $1, 1e5) SELECT 1 -- delete":  Read,
		"WITH a AS (SELECT $$ insert $$ || $2) UPDATE t SET a = 1":       Write,
		"WITH a AS (SELECT b #> '{c}') DELETE FROM t":                    Write,
		"WITH deleted AS (SELECT updated_at, insert_id FROM t) SELECT 1": Read,
		"WITH a AS (SELECT /* delete */ 1) SELECT 1":                     Read,
		// What databases read in different ways.
		"/* a /* b */ DELETE FROM t":                              Write,
		"/*!50000 DELETE FROM t */":                               Write,
		"/*+ hint */ SELECT 1":                                    Read,
		`WITH a AS (SELECT 'a\'') DELETE FROM t`:                  Write,
		`WITH a AS (SELECT E'it\'s') DELETE FROM t`:               Write,
		`WITH a AS (SELECT "it\"s") DELETE FROM t`:                Write,
		`WITH a AS (SELECT 'c:\') DELETE FROM t`:                  Write,
		`WITH a AS (SELECT 'c:\') SELECT 1`:                       Read,
		"WITH [it's] AS (SELECT 1) DELETE FROM t":                 Write,
		"WITH a AS (SELECT b['it']) DELETE FROM t":                Write,
		"WITH a AS (SELECT b['x']) SELECT [a b]":                  Read,
		"WITH a AS (SELECT 1) # it's\n DELETE FROM t":             Write,
		"WITH a AS (SELECT 1 # 2) DELETE FROM t":                  Write,
		"WITH a AS (SELECT $t1$ ' $t1$) DELETE FROM t":            Write,
		"WITH a AS (SELECT 1) REPLACE INTO t SELECT * FROM a":     Write,
		"WITH a AS (SELECT replace(b, 'c', 'd')) SELECT * FROM a": Read,
		"CREATE TABLE t (a int)":                                  DDL,
		"alter table t":                                           DDL,
		"DROP TABLE t":                                            DDL,
		"TRUNCATE t":                                              DDL,
		"GRANT ALL ON t TO u":                                     DDL,
		"BEGIN":                                                   Other,
		"SET x = 1":                                               Other,
		"CALL f()":                                                Other,
		"selection":                                               Other,
		"":                                                        Other,
		"'":                                                       Other,
		"/*":                                                      Other,
		"--":                                                      Other,
		"$$":                                                      Other,
		"WITH":                                                    Read,
		"äselect":                                                 Other,
	} {
		if got := Classify(text); got != want {
			t.Errorf("%q: got %v, want %v", text, got, want)
		}
	}
	if n := testing.AllocsPerRun(100, func() { Classify("WITH a AS (SELECT 1) INSERT INTO t SELECT * FROM a") }); n > 0 {
		t.Errorf("got %v allocations, want none", n)
	}
}

func FuzzClassify(f *testing.F) {
	for _, s := range []string{"WITH a AS (SELECT $x$ insert $x$) SELECT '", "/*/", "$", "$a", "\"", "-", "#", "1e", "with\x80", "with '\\", "with [", "with #", "/*!", "with /* /* */"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if c := Classify(text); c >= Transaction {
			t.Errorf("%q: got %v", text, c)
		}
	})
}

func TestClassesHaveTheirLimits(t *testing.T) {
	one := limitgate.Token{Rate: limitgate.PerDay(1), Capacity: 1}
	m := with(t, Config{Limits: []Limit{
		{Name: "writes", Limiter: limiter(t, one), Key: Everybody, Classes: []Class{Write, DDL}},
		{Name: "all", Limiter: limiter(t, limitgate.Token{Rate: limitgate.PerDay(1), Capacity: 3}), Key: ByClass},
	}})
	db := open(t, &fake{}, m)
	for i, c := range []struct{ text, limit string }{
		{"INSERT", ""}, {"CREATE", "writes"}, {"SELECT", ""}, {"SELECT", ""}, {"SELECT", ""}, {"SELECT", "all"}, {"SET", ""}, {"UPDATE", "writes"},
	} {
		_, err := db.Exec(c.text)
		var r *Refusal
		if errors.As(err, &r); c.limit == "" && err != nil || c.limit != "" && (r == nil || r.Limit != c.limit || r.RetryAfter < 23*time.Hour) {
			t.Errorf("%d, %s: got %v, want a refusal by %q", i, c.text, err, c.limit)
		}
	}
}

// A query holds its place until its rows are closed, however that comes.
func TestQueryHoldsItsPlaceUntilItsRowsAreClosed(t *testing.T) {
	conn := limiter(t, limitgate.Conn{Limit: 2})
	f := &fake{rows: 3}
	db := open(t, f, New(conn, Everybody))
	at := func(what string, want int64) {
		t.Helper()
		if got := free(t, conn, "*"); got != want {
			t.Errorf("%s: got %d places free, want %d", what, got, want)
		}
	}
	r, err := db.Query("SELECT")
	if err != nil {
		t.Fatal(err)
	}
	at("begun", 1)
	if !r.Next() {
		t.Fatal(r.Err())
	}
	at("at the first row", 1)
	second, err := db.Query("SELECT")
	if err != nil {
		t.Fatal(err)
	}
	var refused *Refusal
	if _, err := db.Query("SELECT"); !errors.As(err, &refused) || refused.Says != "at most 2 at once" || refused.RetryAfter != 0 {
		t.Errorf("a third: got %v, want a refusal", err)
	}
	if err := errors.Join(r.Close(), r.Close()); err != nil {
		t.Error(err)
	}
	at("closed early", 1)
	for second.Next() {
		_ = 0
	}
	if second.Err() != nil {
		t.Error(second.Err())
	}
	at("read to the end", 2)

	p, err := db.Prepare("SELECT")
	if err != nil {
		t.Fatal(err)
	}
	at("prepared", 2)
	if r, err = p.Query(); err != nil {
		t.Fatal(err)
	}
	at("a prepared one", 1)
	r.Close()
	p.Close()

	ctx, cancel := context.WithCancel(t.Context())
	if r, err = db.QueryContext(ctx, "SELECT"); err != nil {
		t.Fatal(err)
	}
	at("with a context", 1)
	cancel()
	for end := time.Now().Add(10 * time.Second); free(t, conn, "*") != 2; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("a context that ended did not give the place back")
		}
	}
	r.Close()

	f.fails = map[string]error{"QueryContext": errFake}
	if _, err := db.Query("SELECT"); !errors.Is(err, errFake) {
		t.Errorf("got %v", err)
	}
	at("failed", 2)
	f.fails = map[string]error{"Next": errFake}
	if r, err = db.Query("SELECT"); err != nil || r.Next() || !errors.Is(r.Err(), errFake) {
		t.Errorf("got %v", err)
	}
	at("failed at a row", 2)
	f.fails, f.panics = nil, "QueryContext"
	func() {
		defer func() { _ = recover() }()
		_, _ = db.Query("SELECT")
	}()
	at("panicked", 2)
	f.panics = "ExecContext"
	func() {
		defer func() { _ = recover() }()
		_, _ = db.Exec("INSERT")
	}()
	at("panicked in an execution", 2)
}

func TestObserverThatPanicsHoldsNothing(t *testing.T) {
	conn := limiter(t, limitgate.Conn{Limit: 2})
	m := with(t, Config{Limits: []Limit{{Limiter: conn, Key: Everybody}}, Observe: func(context.Context, Statement, Event) { panic("broken") }})
	f := &fake{}
	func() {
		defer func() { _ = recover() }()
		_, _ = open(t, f, m).Exec("INSERT")
	}()
	if got := free(t, conn, "*"); got != 2 || slices.Contains(f.calls, "ExecContext") {
		t.Errorf("got %d places free after %v, want 2 and no execution", got, f.calls)
	}
}

// What the driver did not send is given back: database/sql does it another way, or on another connection.
func TestWhatWasNotSentIsGivenBack(t *testing.T) {
	for name, c := range map[string]struct {
		fails map[string]error
		left  int64 // of 10
		calls []string
	}{
		"skipped":        {map[string]error{"ExecContext": driver.ErrSkip}, 9, []string{"ExecContext", "PrepareContext", "Stmt.ExecContext"}},
		"bad connection": {map[string]error{"ExecContext": driver.ErrBadConn}, 10, nil},
		"failed":         {map[string]error{"ExecContext": errFake}, 9, nil},
	} {
		t.Run(name, func(t *testing.T) {
			l, conn := limiter(t, limitgate.Token{Rate: limitgate.PerDay(1), Capacity: 10}), limiter(t, limitgate.Conn{Limit: 1})
			f := &fake{fails: c.fails}
			db := open(t, f, with(t, Config{Limits: []Limit{{Limiter: l, Key: Everybody}, {Limiter: conn, Key: Everybody}}}))
			_, err := db.Exec("INSERT")
			if (err == nil) != (name == "skipped") {
				t.Errorf("got %v", err)
			}
			if got := free(t, l, "*"); got != c.left {
				t.Errorf("got %d left, want %d", got, c.left)
			}
			if got := free(t, conn, "*"); got != 1 {
				t.Errorf("got %d places free, want 1", got)
			}
			if c.calls != nil && !slices.Equal(f.calls[1:4], c.calls) {
				t.Errorf("got %v, want %v", f.calls, c.calls)
			}
		})
	}
}

func TestTransactions(t *testing.T) {
	conn, statements := limiter(t, limitgate.Conn{Limit: 1}), limiter(t, limitgate.Token{Rate: limitgate.PerDay(1), Capacity: 100})
	var seen []Statement
	m := with(t, Config{
		Limits: []Limit{
			{Name: "transactions", Limiter: conn, Key: Everybody, Classes: []Class{Transaction}},
			{Limiter: statements, Key: Everybody},
		},
		Observe: func(_ context.Context, s Statement, _ Event) { seen = append(seen, s) },
	})
	f := &fake{}
	db := open(t, f, m)
	var refused *Refusal
	for name, end := range map[string]func(*sql.Tx) error{"commit": (*sql.Tx).Commit, "rollback": (*sql.Tx).Rollback} {
		seen = nil
		tx, err := db.Begin()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := db.Begin(); !errors.As(err, &refused) || refused.Limit != "transactions" {
			t.Errorf("a second transaction: got %v, want a refusal", err)
		}
		if _, err := tx.Exec("INSERT"); err != nil {
			t.Error(err)
		}
		if _, err := db.Exec("UPDATE"); err != nil {
			t.Error(err)
		}
		if err := end(tx); err != nil {
			t.Error(err)
		}
		if got := free(t, conn, "*"); got != 1 {
			t.Errorf("after a %s: got %d free, want 1", name, got)
		}
		want := []Statement{{Class: Transaction}, {Class: Transaction}, {Text: "INSERT", Class: Write, Tx: true}, {Text: "UPDATE", Class: Write}}
		if !slices.Equal(seen, want) {
			t.Errorf("got %v, want %v", seen, want)
		}
	}
	if got := free(t, statements, "*"); got != 96 {
		t.Errorf("got %d statements left, want 96: a begin is none", got)
	}
	f.fails = map[string]error{"BeginTx": errFake}
	if _, err := db.Begin(); !errors.Is(err, errFake) || free(t, conn, "*") != 1 {
		t.Errorf("got %v with %d free, want the database's error and the place back", err, free(t, conn, "*"))
	}
	f.fails, f.panics = nil, "BeginTx"
	func() {
		defer func() { _ = recover() }()
		_, _ = db.Begin()
	}()
	if got := free(t, conn, "*"); got != 1 {
		t.Errorf("after a panic: got %d free, want 1", got)
	}
	f.panics = ""
	c, err := m.Wrap(f).Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.(driver.ConnBeginTx).BeginTx(t.Context(), driver.TxOptions{}); err != nil || free(t, conn, "*") != 0 {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil || free(t, conn, "*") != 1 {
		t.Errorf("got %v with %d free, want the place of a transaction that nobody ended", err, free(t, conn, "*"))
	}
}

// Statements that fail are given back exactly, also when they run at once.
func TestCounts(t *testing.T) {
	l := limiter(t, limitgate.Count{Limit: 30, Window: time.Hour, Windowing: limitgate.Fixed})
	f := &fake{fails: map[string]error{"Next": errFake}, rows: 1}
	m := with(t, Config{Limits: []Limit{{Limiter: l, Key: Everybody, Counts: func(o Outcome) bool { return !Failed(o) }}}})
	var mu sync.Mutex // the fake is for one at a time
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			mu.Lock()
			defer mu.Unlock()
			c, err := m.Wrap(f).Connect(t.Context())
			if err != nil {
				t.Error(err)
				return
			}
			r, err := c.(driver.QueryerContext).QueryContext(t.Context(), "SELECT", nil)
			if err != nil {
				t.Error(err)
				return
			}
			mu.Unlock()
			mu.Lock()
			_ = r.Next(make([]driver.Value, 1))
			if err := r.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if got := free(t, l, "*"); got != 30 {
		t.Errorf("got %d left, want 30", got)
	}
	f.fails = nil
	if _, err := open(t, f, m).Exec("INSERT"); err != nil || free(t, l, "*") != 29 {
		t.Errorf("got %v and %d left, want 29", err, free(t, l, "*"))
	}
}

func TestWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		conn := limiter(t, limitgate.Conn{Limit: 1})
		m := with(t, Config{Wait: time.Second, Limits: []Limit{{Limiter: conn, Key: Everybody}}})
		var all sync.WaitGroup
		var passed, refused, late atomic.Int64
		for i := range 5 {
			all.Go(func() {
				time.Sleep(time.Duration(i) * time.Millisecond)
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				if i == 4 { // its own deadline is sooner
					ctx, cancel = context.WithTimeout(t.Context(), 100*time.Millisecond)
				}
				defer cancel()
				start := time.Now()
				db := open(t, &fake{checks: func() { time.Sleep(450 * time.Millisecond) }}, m)
				_, err := db.ExecContext(ctx, "INSERT")
				var r *Refusal
				switch {
				case err == nil:
					passed.Add(1)
				case i == 4 && time.Since(start) == 100*time.Millisecond && (errors.Is(err, context.DeadlineExceeded) || errors.As(err, &r)):
					late.Add(1)
				case errors.As(err, &r) && time.Since(start) == time.Second:
					refused.Add(1)
				default:
					t.Errorf("%d: got %v after %v", i, err, time.Since(start))
				}
			})
		}
		all.Wait()
		if passed.Load() != 3 || refused.Load() != 1 || late.Load() != 1 {
			t.Errorf("got %d passed, %d refused and %d late, want 3 (at 0, 450 and 900 ms), 1 and 1", passed.Load(), refused.Load(), late.Load())
		}
	})
}

func TestDeadlineBeforeTheTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := limiter(t, limitgate.Req{Rate: limitgate.PerSecond(1), Burst: 5})
		db := open(t, &fake{}, New(l, Everybody))
		start := time.Now()
		for range 2 {
			if _, err := db.Exec("INSERT"); err != nil {
				t.Fatal(err)
			}
		}
		if took := time.Since(start); took != time.Second {
			t.Errorf("two took %v, want 1s", took)
		}
		left := free(t, l, "*")
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		var r *Refusal
		if _, err := db.ExecContext(ctx, "INSERT"); !errors.As(err, &r) || r.RetryAfter != 700*time.Millisecond || time.Since(start) != time.Second || free(t, l, "*") != left {
			t.Errorf("got %v after %v with %d left, want a refusal at once and %d left", err, time.Since(start), free(t, l, "*"), left)
		}
	})
}

// broken is a zone that can't decide.
type broken struct{ limitgate.Zone }

func (broken) Do(context.Context, limitgate.Time, *limitgate.Limit, string, limitgate.Cost, limitgate.Mode) (limitgate.Decision, limitgate.Charge, error) {
	return limitgate.Decision{}, limitgate.Charge{}, errFake
}

func TestOutageSkipDryRun(t *testing.T) {
	bad, err := limitgate.NewLimiter(broken{memzone.New(memzone.Config{})}, limitgate.Conn{Limit: 1})
	if err != nil {
		t.Fatal(err)
	}
	shut := limiter(t, limitgate.Token{Rate: limitgate.PerDay(1), Capacity: 1})
	for _, key := range []string{"*", "write"} {
		if _, err := shut.Take(t.Context(), key); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		config Config
		passes bool
		is     error
	}{
		"outage":         {Config{Limits: []Limit{{Limiter: bad, Key: Everybody}}}, false, errFake},
		"outage, open":   {Config{Limits: []Limit{{Limiter: bad, Key: Everybody}}, FailOpen: true}, true, nil},
		"refused":        {Config{Limits: []Limit{{Limiter: shut, Key: Everybody}}}, false, nil},
		"dry run":        {Config{Limits: []Limit{{Limiter: shut, Key: Everybody}}, DryRun: true}, true, nil},
		"skipped":        {Config{Limits: []Limit{{Limiter: shut, Key: Everybody}}, Skip: func(_ context.Context, s Statement) bool { return s.Text == "INSERT" }}, true, nil},
		"cost of 0":      {Config{Limits: []Limit{{Limiter: shut, Key: Everybody, Cost: func(context.Context, Statement) limitgate.Cost { return 0 }}}}, true, nil},
		"another class":  {Config{Limits: []Limit{{Limiter: shut, Key: Everybody}}, Classify: func(string) Class { return Transaction }}, true, nil},
		"unknown class":  {Config{Limits: []Limit{{Limiter: shut, Key: Everybody, Classes: []Class{Other}}}, Classify: func(string) Class { return 99 }}, false, nil},
		"nobody's key":   {Config{Limits: []Limit{{Limiter: shut, Key: Each()}}}, true, nil},
		"somebody's key": {Config{Limits: []Limit{{Limiter: shut, Key: Key(Each()).Or(ByClass)}}}, false, nil},
	} {
		_, err := open(t, &fake{}, with(t, c.config)).Exec("INSERT")
		var r *Refusal
		if (err == nil) != c.passes || !c.passes && !errors.As(err, &r) || c.is != nil && !errors.Is(err, c.is) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestConfigSaysWhatIsWrong(t *testing.T) {
	req, conn := limiter(t, limitgate.Count{Limit: 1, Window: time.Hour}), limiter(t, limitgate.Conn{Limit: 1})
	for want, c := range map[string]Config{
		"0 limits":             {},
		"must not be negative": {Limits: []Limit{{Limiter: req, Key: Everybody}}, Wait: -1},
		"needs a Limiter":      {Limits: []Limit{{Key: Everybody}}},
		"needs a Key":          {Limits: []Limit{{Limiter: req}}},
		"Cost and Counts are":  {Limits: []Limit{{Limiter: conn, Key: Everybody, Counts: Failed}}},
		"unknown class 5":      {Limits: []Limit{{Limiter: conn, Key: Everybody, Classes: []Class{classes}}}},
	} {
		if _, err := NewWith(c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// TestPassingAllocatesNothing: an execution that passes costs no memory beyond what the driver takes, and a query the rows that are
// followed to their close.
func TestPassingAllocatesNothing(t *testing.T) {
	token := limiter(t, limitgate.Token{Rate: limitgate.PerSecond(1_000_000), Capacity: 1 << 30})
	f := &fake{rows: 1}
	for name, c := range map[string]struct {
		limits      []Limit
		exec, query float64
	}{
		"rate":   {[]Limit{{Limiter: token, Key: Each(Everybody, ByClass)}}, 0, 0},
		"places": {[]Limit{{Limiter: token, Key: ByClass}, {Limiter: limiter(t, limitgate.Conn{Limit: 2}), Key: Everybody}}, 0, 2},
	} {
		m := with(t, Config{Limits: c.limits, Wait: time.Second})
		ctx, cancel := context.WithCancel(t.Context())
		bare, _ := f.Connect(ctx)
		wrapped, err := m.Wrap(f).Connect(ctx)
		if err != nil {
			t.Fatal(err)
		}
		measure := func(c driver.Conn) (exec, query float64) {
			x, q := c.(driver.ExecerContext), c.(driver.QueryerContext)
			exec = testing.AllocsPerRun(1000, func() {
				f.calls = f.calls[:0]
				if _, err := x.ExecContext(ctx, "INSERT INTO t VALUES (1)", nil); err != nil {
					t.Fatal(err)
				}
			})
			return exec, testing.AllocsPerRun(1000, func() {
				f.calls = f.calls[:0]
				r, err := q.QueryContext(ctx, "SELECT a FROM t", nil)
				if err != nil || r.Close() != nil {
					t.Fatal(err)
				}
			})
		}
		be, bq := measure(bare)
		we, wq := measure(wrapped)
		if (we-be > c.exec || wq-bq > c.query) && !racing.Detector {
			t.Errorf("%s: got %v allocations for an execution and %v for a query, want %v and %v", name, we-be, wq-bq, c.exec, c.query)
		}
		cancel()
	}
}
