// The first request starts the server of the agents: `next build` loads this file too.
const answer = async (request) => (await import('../../../../agents.mjs')).agents.fetch(request)

export { answer as DELETE, answer as GET, answer as POST, answer as PUT }
