// The typed client of a server, for browsers and Node.
export * from '@provost/client'
