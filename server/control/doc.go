// Package control is the way to the persistent data of a server for whoever owns
// its data directory: backup, restore, and users when nobody can log in yet.
//
// While no server runs, [Open] takes the directory itself. While one does, it
// asks that server over a Unix socket in the directory, which nobody but the
// directory's owner can reach: there is no port, no password, and nothing to be
// reached from elsewhere.
package control
