/** Returns an answer that no cache keeps. */
export function json(body: object): Response {
  return Response.json(body, { headers: { 'cache-control': 'no-store' } })
}
