package probe

import (
	"context"
	"database/sql/driver"
	"errors"
	"io"
	"net"
	"strings"

	"github.com/go-sql-driver/mysql"
)

// readOnlyCommand asks a MySQL whether it is the one that is written to. As the
// command of a checker, spelled exactly so, it makes a target fail that answers
// ON (Nacos: MysqlHealthCheckProcessor).
const readOnlyCommand = "show global variables where variable_name='read_only'"

// maxMySQLAnswer bounds what is read of a target, greeting and all: the driver would
// keep as much of one row as comes in its time.
const maxMySQLAnswer = 1 << 20

var errTooLong = errors.New("the answer is too long")

// boundedConn is a connection of which so much is read.
type boundedConn struct {
	net.Conn
	left int
}

// Read implements [net.Conn].
func (c *boundedConn) Read(b []byte) (int, error) {
	if c.left == 0 {
		return 0, errTooLong
	}
	n, err := c.Conn.Read(b[:min(len(b), c.left)])
	c.left -= n
	return n, err
}

// mysqlAsker logs in and runs a command. Nacos counts every error of the driver,
// one while connecting included, as a failure at once.
type mysqlAsker struct{ user, password, command string }

func (a *mysqlAsker) ask(ctx context.Context, dial DialFunc, address string) verdict {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout+answerTimeout)
	defer cancel()
	row, err := a.query(ctx, dial, address)
	if err != nil {
		v := failure(err)
		if _, answered := errors.AsType[*mysql.MySQLError](err); answered {
			v.outcome = unwelcome
		}
		v.atOnce = true
		return v
	}
	if a.command == readOnlyCommand && len(row) > 1 && strings.EqualFold(text(row[1]), "ON") {
		return verdict{outcome: readOnly}
	}
	return verdict{outcome: succeeded}
}

// query runs the command on a connection of its own and returns its first row,
// or none. It speaks to the driver directly: the pool above it would try again,
// and keep a goroutine per target.
func (a *mysqlAsker) query(ctx context.Context, dial DialFunc, address string) (row []driver.Value, err error) {
	config := mysql.NewConfig()
	config.User, config.Passwd = a.user, a.password
	config.Net, config.Addr = "tcp", address
	config.Timeout, config.ReadTimeout, config.WriteTimeout = connectTimeout, answerTimeout, answerTimeout
	config.DialFunc = func(ctx context.Context, _, address string) (net.Conn, error) {
		conn, err := dial.connect(ctx, address)
		if err != nil {
			return nil, err
		}
		return &boundedConn{Conn: conn, left: maxMySQLAnswer}, nil
	}
	config.Logger = &mysql.NopLogger{}
	config.CheckConnLiveness = false // it is used once
	connector, err := mysql.NewConnector(config)
	if err != nil {
		return nil, err
	}
	conn, err := connector.Connect(ctx)
	if err != nil {
		return nil, cause(ctx, err)
	}
	defer func() { _ = conn.Close() }()
	queryer, ok := conn.(driver.QueryerContext)
	if !ok {
		return nil, errors.New("the MySQL driver runs no queries")
	}
	rows, err := queryer.QueryContext(ctx, a.command, nil)
	if err != nil {
		return nil, cause(ctx, err)
	}
	defer func() { _ = rows.Close() }()
	row = make([]driver.Value, len(rows.Columns()))
	if len(row) == 0 {
		return nil, nil // a command without an answer
	}
	if err := rows.Next(row); errors.Is(err, io.EOF) {
		return nil, nil
	} else if err != nil {
		return nil, cause(ctx, err)
	}
	return row, nil
}

// cause prefers the end of the context to whatever the driver made of it.
func cause(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

func text(v driver.Value) string {
	switch v := v.(type) {
	case []byte:
		return string(v)
	case string:
		return v
	}
	return ""
}
