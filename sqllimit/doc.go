// Package sqllimit limits the statements of database/sql. It stands between a database and its driver, around the driver's connector: before
// a statement goes on its limits are asked, and after it has ended what it held is given back. It opens no connections, reads no results
// and starts no goroutine.
//
//	places, err := limitgate.NewLimiter(zone, limitgate.Conn{Limit: 20})
//	limit := sqllimit.New(places, sqllimit.Everybody)
//	db := sql.OpenDB(limit.Wrap(connector))
//
// A [Config] has several limits at once, limits of classes of statements, transactions, costs, waiting, and dry run.
//
// # What is a statement
//
// Each query and each execution, prepared or not, in a transaction or not. A query holds its place of a limit of kind limitgate.Conn until
// its rows are closed, an execution until it returns. Preparing, pinging and what a driver does by itself are none. To begin a transaction is
// a statement of class [Transaction], which only limits that name this class count: its place is held until the transaction ends.
//
// A statement that the driver did not send (driver.ErrSkip, driver.ErrBadConn) is given back whole; database/sql tries again.
//
// # Refusals
//
// A refusal is a *[Refusal], which tells the limit and where a time exists when to come again. With Config.Wait a statement waits for its
// turn and for its place, until then or its context's deadline, behind those that already wait. Work that holds a place while it waits
// for another, such as a query in the loop over the rows of another, can wait for itself: give such work a limit that is large enough, or a
// transaction limit instead.
//
// # Drivers
//
// What the driver's connections, statements and rows can do beyond the least, the wrapped ones can, and nothing else. [Unwrap] gives what
// the driver made, for sql.Conn.Raw. Where a driver has no calls with contexts, database/sql can't tell which context a statement has, and
// Config.Wait alone bounds how long it waits.
package sqllimit

//go:generate go run ../internal/genshapes sqllimit .
