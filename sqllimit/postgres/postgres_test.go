// Package postgres_test tries package sqllimit with a real PostgreSQL through pgx. It is a module of its own, so that pgx is no dependency of
// who uses limitgate.
package postgres_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/memzone"
	"github.com/limitgate/limitgate/sqllimit"
)

func limiter(t *testing.T, a limitgate.Algorithm) *limitgate.Limiter {
	t.Helper()
	l, err := limitgate.NewLimiter(memzone.New(memzone.Config{}), a)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// open is a limited database, and bare one that is not.
func (s *server) open(t *testing.T, c sqllimit.Config) (limited, bare *sql.DB) {
	t.Helper()
	m, err := sqllimit.NewWith(c)
	if err != nil {
		t.Fatal(err)
	}
	limited, bare = sql.OpenDB(m.Wrap(s.connector(t))), sql.OpenDB(s.connector(t))
	t.Cleanup(func() { limited.Close(); bare.Close() })
	return limited, bare
}

func free(t *testing.T, l *limitgate.Limiter) int64 {
	t.Helper()
	d, err := l.CheckAt(t.Context(), limitgate.Now(), "*", 1)
	if err != nil {
		t.Fatal(err)
	}
	if !d.Admitted() {
		return 0
	}
	return d.Remaining + 1
}

func TestPostgres(t *testing.T) {
	s := start(t)
	for name, test := range map[string]func(*testing.T, *server){
		"places":       placesHold,
		"rows":         rowsHoldTheirPlace,
		"classes":      classesAreLimited,
		"transactions": transactions,
		"driver":       driverIsAsItWas,
		"cut":          connectionIsCut,
	} {
		t.Run(name, func(t *testing.T) { test(t, s) })
	}
}

// Thirty at a limit of five: the server never sees more than five at work, and with Wait all come through.
func placesHold(t *testing.T, s *server) {
	conn := limiter(t, limitgate.Conn{Limit: 5})
	db, bare := s.open(t, sqllimit.Config{Wait: time.Minute, Limits: []sqllimit.Limit{{Limiter: conn, Key: sqllimit.Everybody}}})
	db.SetMaxOpenConns(30)
	done := make(chan struct{})
	var all sync.WaitGroup
	for range 30 {
		all.Go(func() {
			for range 5 {
				if _, err := db.ExecContext(t.Context(), "SELECT pg_sleep(0.01)"); err != nil {
					t.Error(err)
				}
			}
		})
	}
	// Owned by the test, which waits for it; ends with the others.
	go func() { all.Wait(); close(done) }()
	most, looks := 0, 0
	var before map[string]bool
	for {
		select {
		case <-done:
			t.Logf("at most %d at work in %d looks", most, looks)
			if most > 5 || most < 2 || looks < 10 {
				t.Errorf("at most %d at work in %d looks, want 5 or few less in 10 or more", most, looks)
			}
			if got := free(t, conn); got != 5 {
				t.Errorf("got %d places free, want 5", got)
			}
			return
		default:
		}
		now := atWork(t, bare)
		// The server looks at one process after the other, and may see one that ends and the one that follows it. Those that two looks
		// in a row see were at work together, between the two.
		n := 0
		for who := range now {
			if before[who] {
				n++
			}
		}
		most, before = max(most, n), now
		looks++
		time.Sleep(time.Millisecond) // leaves the processor to those who are looked at
	}
}

// atWork names the statements that the server is at, each by its process and its beginning.
func atWork(t *testing.T, bare *sql.DB) map[string]bool {
	t.Helper()
	rows, err := bare.Query("SELECT pid || ' ' || query_start FROM pg_stat_activity WHERE state = 'active' AND query = 'SELECT pg_sleep(0.01)'")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	all := map[string]bool{}
	for rows.Next() {
		var who string
		if err := rows.Scan(&who); err != nil {
			t.Fatal(err)
		}
		all[who] = true
	}
	if rows.Err() != nil {
		t.Fatal(rows.Err())
	}
	return all
}

func rowsHoldTheirPlace(t *testing.T, s *server) {
	conn := limiter(t, limitgate.Conn{Limit: 1})
	db, _ := s.open(t, sqllimit.Config{Wait: 500 * time.Millisecond, Limits: []sqllimit.Limit{{Limiter: conn, Key: sqllimit.Everybody}}})
	rows, err := db.Query("SELECT generate_series(1, 100000)")
	if err != nil {
		t.Fatal(err)
	}
	if !rows.Next() || free(t, conn) != 0 {
		t.Fatalf("got %v with %d places free, want the place held", rows.Err(), free(t, conn))
	}
	var refused *sqllimit.Refusal
	begin := time.Now()
	if _, err := db.Exec("SELECT 1"); !errors.As(err, &refused) || time.Since(begin) < 500*time.Millisecond {
		t.Errorf("while rows are open: got %v after %v, want a refusal after 500 ms", err, time.Since(begin))
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	begin = time.Now()
	if _, err := db.ExecContext(ctx, "SELECT 1"); err == nil || time.Since(begin) > 400*time.Millisecond {
		t.Errorf("with a deadline: got %v after %v, want an error after 10 ms", err, time.Since(begin))
	}
	if err := rows.Close(); err != nil || free(t, conn) != 1 {
		t.Errorf("closed: got %v with %d places free, want 1", err, free(t, conn))
	}
	if rows, err = db.Query("SELECT generate_series(1, 10)"); err != nil {
		t.Fatal(err)
	}
	n := 0
	for rows.Next() {
		n++
	}
	if n != 10 || free(t, conn) != 1 {
		t.Errorf("read to the end: got %d rows with %d places free", n, free(t, conn))
	}
	if _, err := db.Exec("SELECT nonsense"); err == nil || free(t, conn) != 1 {
		t.Errorf("a mistake: got %v with %d places free", err, free(t, conn))
	}
	// A place that comes free while somebody waits is taken at once.
	if rows, err = db.Query("SELECT generate_series(1, 10)"); err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(10*time.Millisecond, func() { rows.Close() })
	if _, err := db.Exec("SELECT 1"); err != nil {
		t.Errorf("waiting: got %v", err)
	}
}

func classesAreLimited(t *testing.T, s *server) {
	db, bare := s.open(t, sqllimit.Config{Limits: []sqllimit.Limit{{
		Name: "writes", Limiter: limiter(t, limitgate.Token{Rate: limitgate.PerHour(1), Capacity: 3}), Key: sqllimit.Everybody, Classes: []sqllimit.Class{sqllimit.Write},
	}}})
	if _, err := db.Exec("CREATE TABLE classes (a int)"); err != nil {
		t.Fatal(err)
	}
	insert, err := db.Prepare("INSERT INTO classes VALUES ($1)")
	if err != nil {
		t.Fatal(err)
	}
	defer insert.Close()
	var refused *sqllimit.Refusal
	for i := range 6 {
		_, err := insert.Exec(i)
		if i < 3 && err != nil || i >= 3 && (!errors.As(err, &refused) || refused.Limit != "writes") {
			t.Errorf("%d: got %v", i, err)
		}
	}
	if _, err := db.Exec("WITH d AS (DELETE FROM classes RETURNING a) SELECT * FROM d"); !errors.As(err, &refused) {
		t.Errorf("a WITH that deletes: got %v, want a refusal", err)
	}
	n := 0
	if err := bare.QueryRow("SELECT count(*) FROM classes").Scan(&n); err != nil || n != 3 {
		t.Errorf("got %d rows, %v, want 3: what is refused does not reach the server", n, err)
	}
	if err := db.QueryRow("SELECT count(*) FROM classes").Scan(&n); err != nil {
		t.Errorf("a read: %v", err)
	}
}

func transactions(t *testing.T, s *server) {
	conn := limiter(t, limitgate.Conn{Limit: 1})
	db, bare := s.open(t, sqllimit.Config{Limits: []sqllimit.Limit{{
		Limiter: conn, Key: sqllimit.Everybody, Classes: []sqllimit.Class{sqllimit.Transaction},
	}}})
	if _, err := db.Exec("CREATE TABLE transactions (a int)"); err != nil {
		t.Fatal(err)
	}
	tx, err := db.BeginTx(t.Context(), &sql.TxOptions{Isolation: sql.LevelSerializable})
	if err != nil {
		t.Fatal(err)
	}
	var level string
	if err := tx.QueryRow("SHOW transaction_isolation").Scan(&level); err != nil || level != "serializable" {
		t.Errorf("got %q, %v: the options reach the driver", level, err)
	}
	var refused *sqllimit.Refusal
	if _, err := db.Begin(); !errors.As(err, &refused) {
		t.Errorf("a second: got %v, want a refusal", err)
	}
	if _, err := tx.Exec("INSERT INTO transactions VALUES (1)"); err != nil {
		t.Error(err)
	}
	if err := tx.Rollback(); err != nil || free(t, conn) != 1 {
		t.Errorf("rolled back: got %v with %d free", err, free(t, conn))
	}
	ctx, cancel := context.WithCancel(t.Context())
	if tx, err = db.BeginTx(ctx, nil); err != nil {
		t.Fatal(err)
	}
	cancel() // database/sql rolls back
	for end := time.Now().Add(10 * time.Second); free(t, conn) != 1; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("a context that ended did not give the place back")
		}
	}
	if err := tx.Commit(); err == nil {
		t.Error("a transaction whose context ended was committed")
	}
	n := 0
	if err := bare.QueryRow("SELECT count(*) FROM transactions").Scan(&n); err != nil || n != 0 {
		t.Errorf("got %d rows, %v, want none", n, err)
	}
}

// driverIsAsItWas: types, arrays, several results and the driver's own calls are what they are without limits.
func driverIsAsItWas(t *testing.T, s *server) {
	db, bare := s.open(t, sqllimit.Config{Limits: []sqllimit.Limit{{Limiter: limiter(t, limitgate.Conn{Limit: 10}), Key: sqllimit.Everybody}}})
	const text = "SELECT 1::int AS a, 'x'::varchar(7) AS b, 1.5::numeric(5,2) AS c, now() AS d, $1::text[] AS e"
	types := func(db *sql.DB) (all []sql.ColumnType) {
		rows, err := db.Query(text, []string{"x", "y"})
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		columns, err := rows.ColumnTypes()
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range columns {
			all = append(all, *c)
		}
		return all
	}
	if got, want := types(db), types(bare); !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if err := db.Ping(); err != nil {
		t.Error(err)
	}
	c, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.ExecContext(t.Context(), "CREATE TEMPORARY TABLE copied (a int)"); err != nil {
		t.Fatal(err)
	}
	err = c.Raw(func(dc any) error {
		if got, want := methods(dc.(driver.Conn)), methods(sqllimit.Unwrap(dc).(driver.Conn)); !slices.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
		_, err := sqllimit.Unwrap(dc).(*stdlib.Conn).Conn().CopyFrom(t.Context(), pgx.Identifier{"copied"}, []string{"a"}, pgx.CopyFromRows([][]any{{1}, {2}}))
		return err
	})
	n := 0
	if err := errors.Join(err, c.QueryRowContext(t.Context(), "SELECT count(*) FROM copied").Scan(&n)); err != nil || n != 2 {
		t.Errorf("got %d rows, %v, want the 2 that pgx copied by itself", n, err)
	}
}

// methods are the interfaces of package driver that a connection has.
func methods(c driver.Conn) (names []string) {
	for _, i := range []reflect.Type{
		reflect.TypeFor[driver.ExecerContext](), reflect.TypeFor[driver.QueryerContext](), reflect.TypeFor[driver.ConnPrepareContext](),
		reflect.TypeFor[driver.ConnBeginTx](), reflect.TypeFor[driver.Pinger](), reflect.TypeFor[driver.SessionResetter](),
		reflect.TypeFor[driver.Validator](), reflect.TypeFor[driver.NamedValueChecker](),
	} {
		if reflect.TypeOf(c).Implements(i) {
			names = append(names, i.Name())
		}
	}
	return names
}

// connectionIsCut: the server ends a connection whose rows are open.
func connectionIsCut(t *testing.T, s *server) {
	conn := limiter(t, limitgate.Conn{Limit: 1})
	db, bare := s.open(t, sqllimit.Config{Limits: []sqllimit.Limit{{Limiter: conn, Key: sqllimit.Everybody}}})
	rows, err := db.Query("SELECT generate_series(1, 10000000), pg_backend_pid()")
	if err != nil {
		t.Fatal(err)
	}
	var n, pid int
	if !rows.Next() || rows.Scan(&n, &pid) != nil {
		t.Fatal(rows.Err())
	}
	if _, err := bare.Exec("SELECT pg_terminate_backend($1)", pid); err != nil {
		t.Fatal(err)
	}
	for rows.Next() {
		n++
	}
	if rows.Err() == nil {
		t.Error("all rows came through")
	}
	rows.Close()
	if got := free(t, conn); got != 1 {
		t.Errorf("got %d places free, want 1", got)
	}
	if _, err := db.Exec("SELECT 1"); err != nil {
		t.Errorf("on a new connection: %v", err)
	}
}
