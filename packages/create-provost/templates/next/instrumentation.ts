/** Next calls this when a server starts: runs that the last process left are resumed before the first request. */
export async function register() {
  if (process.env.NEXT_RUNTIME === 'nodejs') {
    const { agents } = await import('./server.ts')
    const server = agents()
    const stop = () => void server.close()
    process.once('SIGINT', stop)
    process.once('SIGTERM', stop)
  }
}
