// Package wire holds what client and server both know of the Nacos 1.x HTTP and
// UDP protocol: names and their one parser, parameters, the JSON documents,
// metadata, agents. It holds no behaviour of either side.
package wire
