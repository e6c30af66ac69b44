package sqllimit_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/memzone"
	"github.com/limitgate/limitgate/sqllimit"
)

// demo is a driver without a database: each result has one row.
type demo struct{}

func (demo) Connect(context.Context) (driver.Conn, error) { return demo{}, nil }
func (demo) Driver() driver.Driver                        { return nil }
func (demo) Prepare(string) (driver.Stmt, error)          { return nil, errors.New("not prepared") }
func (demo) Close() error                                 { return nil }
func (demo) Begin() (driver.Tx, error)                    { return demo{}, nil }
func (demo) Commit() error                                { return nil }
func (demo) Rollback() error                              { return nil }
func (demo) ExecContext(context.Context, string, []driver.NamedValue) (driver.Result, error) {
	return driver.RowsAffected(1), nil
}
func (demo) QueryContext(context.Context, string, []driver.NamedValue) (driver.Rows, error) {
	return new(demoRows), nil
}

type demoRows struct{ read bool }

func (*demoRows) Columns() []string { return []string{"n"} }
func (*demoRows) Close() error      { return nil }
func (r *demoRows) Next(row []driver.Value) error {
	if r.read {
		return io.EOF
	}
	r.read, row[0] = true, int64(1)
	return nil
}

// must is a limiter on a zone of its own.
func must(a limitgate.Algorithm) *limitgate.Limiter {
	l, err := limitgate.NewLimiter(memzone.New(memzone.Config{}), a)
	if err != nil {
		panic(err)
	}
	return l
}

func ExampleNew() {
	places, err := limitgate.NewLimiter(memzone.New(memzone.Config{}), limitgate.Conn{Limit: 1})
	if err != nil {
		panic(err)
	}
	limit := sqllimit.New(places, sqllimit.Everybody)
	db := sql.OpenDB(limit.Wrap(demo{})) // in a program the driver's own connector
	defer db.Close()

	rows, err := db.Query("SELECT n FROM t")
	if err != nil {
		panic(err)
	}
	_, err = db.Exec("DELETE FROM t")
	fmt.Println("while rows are open:", err)
	rows.Close()
	_, err = db.Exec("DELETE FROM t")
	fmt.Println("after that:", err)
	// Output:
	// while rows are open: limit "default" of statements: too many (at most 1 at once)
	// after that: <nil>
}

func ExampleNewWith() {
	limit, err := sqllimit.NewWith(sqllimit.Config{
		Limits: []sqllimit.Limit{
			{Name: "at once", Limiter: must(limitgate.Conn{Limit: 20}), Key: sqllimit.Everybody},
			{Name: "writes", Limiter: must(limitgate.Token{Rate: limitgate.PerMinute(1), Capacity: 2}), Key: sqllimit.Everybody,
				Classes: []sqllimit.Class{sqllimit.Write}},
			{Name: "transactions", Limiter: must(limitgate.Conn{Limit: 5}), Key: sqllimit.Everybody,
				Classes: []sqllimit.Class{sqllimit.Transaction}},
		},
		Wait: 200 * time.Millisecond,
	})
	if err != nil {
		panic(err)
	}
	db := sql.OpenDB(limit.Wrap(demo{}))
	defer db.Close()
	for _, text := range []string{"INSERT INTO t VALUES (1)", "UPDATE t SET n = 2", "DELETE FROM t", "CREATE TABLE u ()"} {
		_, err := db.Exec(text)
		fmt.Println(err)
	}
	// Output:
	// <nil>
	// <nil>
	// limit "writes" of statements: too many (1r/m, at most 2 at once)
	// <nil>
}

func ExampleMiddleware_Wrap() {
	limit := sqllimit.New(must(limitgate.Token{Rate: limitgate.PerMinute(1), Capacity: 1}), sqllimit.ByClass)
	db := sql.OpenDB(limit.Wrap(demo{}))
	defer db.Close()
	var n int
	fmt.Println(db.QueryRow("SELECT n FROM t").Scan(&n), n)
	err := db.QueryRow("SELECT n FROM t").Scan(&n)
	var refusal *sqllimit.Refusal
	fmt.Println(errors.As(err, &refusal), refusal.RetryAfter.Round(time.Minute))
	// Output:
	// <nil> 1
	// true 1m0s
}

func ExampleConfig_Validate() {
	fmt.Println(sqllimit.Config{Limits: []sqllimit.Limit{{Name: "reads", Limiter: must(limitgate.Conn{Limit: 20})}}}.Validate())
	// Output: limit 0 "reads" of statements: needs a Key
}

func ExampleRefusal_Error() {
	fmt.Println(&sqllimit.Refusal{Limit: "reads", Says: "at most 20 at once"})
	// Output: limit "reads" of statements: too many (at most 20 at once)
}

func ExampleRefusal_Unwrap() {
	err := fmt.Errorf("loading the cart: %w", &sqllimit.Refusal{Limit: "reads", Err: io.ErrUnexpectedEOF})
	fmt.Println(err)
	fmt.Println(errors.Is(err, io.ErrUnexpectedEOF))
	// Output:
	// loading the cart: asking the limits of a statement: unexpected EOF
	// true
}

func ExampleFailed() {
	fmt.Println(sqllimit.Failed(sqllimit.Outcome{}), sqllimit.Failed(sqllimit.Outcome{Err: sql.ErrTxDone}))
	// Output: false true
}

func ExampleClassify() {
	for _, text := range []string{
		"SELECT n FROM t", "WITH d AS (DELETE FROM t RETURNING n) SELECT n FROM d", "/* nightly */ TRUNCATE t", "SET search_path = u",
	} {
		fmt.Println(sqllimit.Classify(text))
	}
	// Output:
	// read
	// write
	// ddl
	// other
}

func ExampleClass_String() {
	fmt.Println(sqllimit.Read, sqllimit.Transaction)
	// Output: read transaction
}

// tenant is what a program puts into its contexts.
type tenant struct{}

// byTenant counts by what a program put there.
func byTenant(ctx context.Context, _ sqllimit.Statement, b []byte) []byte {
	name, _ := ctx.Value(tenant{}).(string)
	return append(b, name...)
}

func ExampleKey_Or() {
	key := sqllimit.Key(byTenant).Or(sqllimit.Everybody)
	fmt.Printf("%s\n", key(context.WithValue(context.Background(), tenant{}, "acme"), sqllimit.Statement{}, nil))
	fmt.Printf("%s\n", key(context.Background(), sqllimit.Statement{}, nil))
	// Output:
	// acme
	// *
}

func ExampleEverybody() {
	fmt.Printf("%s\n", sqllimit.Everybody(context.Background(), sqllimit.Statement{}, nil))
	// Output: *
}

func ExampleByClass() {
	fmt.Printf("%s\n", sqllimit.ByClass(context.Background(), sqllimit.Statement{Class: sqllimit.Write}, nil))
	// Output: write
}

func ExampleEach() {
	key := sqllimit.Each(byTenant, sqllimit.ByClass)
	fmt.Printf("%q\n", key(context.WithValue(context.Background(), tenant{}, "acme"), sqllimit.Statement{Class: sqllimit.Read}, nil))
	// Output: "\x00\x00\x00\x04acme\x00\x00\x00\x04read"
}

func ExampleUnwrap() {
	limit := sqllimit.New(must(limitgate.Conn{Limit: 20}), sqllimit.Everybody)
	db := sql.OpenDB(limit.Wrap(demo{}))
	defer db.Close()
	c, err := db.Conn(context.Background())
	if err != nil {
		panic(err)
	}
	defer c.Close()
	err = c.Raw(func(dc any) error {
		_, is := sqllimit.Unwrap(dc).(demo)
		fmt.Println("the driver's own connection:", is)
		return nil
	})
	fmt.Println(err)
	// Output:
	// the driver's own connection: true
	// <nil>
}
