package wire

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// LooseBool reads the first of the aliases that is not blank: true, t, yes, y
// and on in any case are true, everything else, "1" included, is false. Blank
// is def. Used for ephemeral, healthy, enabled and the like.
func (p Params) LooseBool(def bool, names ...string) bool {
	v := p.Get(names...)
	if v == "" {
		return def
	}
	for _, yes := range [...]string{"true", "t", "yes", "y", "on"} {
		if strings.EqualFold(v, yes) {
			return true
		}
	}
	return false
}

// StrictBool is true for "true" in any case and false for everything else. Used
// for healthyOnly, isCheck and aggregation.
func (p Params) StrictBool(name string) bool {
	return strings.EqualFold(p.Get(name), "true")
}

// SpringBool accepts true, on, yes and 1 and their opposites; absent is false,
// anything else a [BadRequest]. Used for withInstances, hasIpCount, detail,
// reset and debug.
func (p Params) SpringBool(name string) (bool, error) {
	v := p.Get(name)
	switch strings.ToLower(v) {
	case "true", "on", "yes", "1":
		return true, nil
	case "", "false", "off", "no", "0":
		return false, nil
	}
	return false, notConverted("boolean", "java.lang.IllegalArgumentException", "Invalid boolean value ["+Excerpt(v)+"]")
}

// notConverted is what Nacos' framework says of text that is none of the wanted
// kind, with its cause once more at the end.
func notConverted(kind, exception, cause string) error {
	return BadRequestf("Failed to convert value of type 'java.lang.String' to required type '%s'; nested exception is %s: %s;caused: %s",
		kind, exception, cause, cause)
}

// Int reads a Java int; blank is def, bad text a [BadRequest].
func (p Params) Int(name string, def int) (int, error) {
	v := p.Get(name)
	if v == "" {
		return def, nil
	}
	return parseInt(v)
}

// RequiredCount reads a whole number that must be there, to count with: one that
// no int can hold is the largest, or the smallest. Used for pages. The errors are
// those of Nacos' framework.
func (p Params) RequiredCount(name string) (int, error) {
	v := p.Get(name)
	if v == "" {
		return 0, BadRequestf("Required int parameter '%s' is not present", name)
	}
	n, err := parseCount(v)
	if err != nil {
		return 0, notConverted("int", "java.lang.NumberFormatException", err.Error())
	}
	return n, nil
}

// LenientCount is RequiredCount for what is 0 when it is blank or bad text. Used
// for pageNo and pageSize of the service list.
func (p Params) LenientCount(name string) int {
	n, err := parseCount(p.Get(name))
	if err != nil {
		return 0
	}
	return n
}

// Float reads a number; blank is def, bad text and NaN or infinity are a
// [BadRequest] in the words of Nacos' framework.
func (p Params) Float(name string, def float64) (float64, error) {
	v := p.Get(name)
	if v == "" {
		return def, nil
	}
	f, err := parseFloat(v)
	if err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
		return 0, notConverted("float", "java.lang.NumberFormatException", fmt.Sprintf("For input string: %q", Excerpt(v)))
	}
	return f, nil
}

func parseCount(text string) (int, error) {
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return 0, BadRequestf("For input string: %q", Excerpt(text))
	}
	return int(n), nil
}

func parseInt(text string) (int, error) {
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		return 0, BadRequestf("For input string: %q", Excerpt(text))
	}
	return int(n), nil
}

// parseFloat reads a decimal number as Java does: too large is infinite, and no
// hexadecimal form or underscores.
func parseFloat(text string) (float64, error) {
	f, err := strconv.ParseFloat(text, 64)
	if strings.ContainsAny(text, "xX_") || err != nil && !math.IsInf(f, 0) {
		return 0, BadRequestf("For input string: %q", Excerpt(text))
	}
	return f, nil
}
