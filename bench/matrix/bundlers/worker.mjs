/** What workerd runs: an agent with a tool and sessions in memory. */
import { memoryStore } from 'provost'

import { twoTurns } from './two-turns.mjs'

export default {
  async fetch() {
    const store = memoryStore()
    try {
      return new Response(await twoTurns(() => store))
    } catch (error) {
      return new Response(String(error?.stack ?? error), { status: 500 })
    }
  },
}
