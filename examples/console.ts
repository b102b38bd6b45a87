// What operators see over HTTP: sessions of all principals and their logs, without the secret values for the role `view`.
import { createAgent, memoryStore, tool, z } from 'provost'
import { createServer } from 'provost/server'
import { scriptedModel } from 'provost/testing'

const vault = tool({
  name: 'vault',
  effect: 'read',
  input: z.object({}),
  returns: { integrity: 'trusted', confidentiality: 'secret' },
  execute: () => 'the code is 4711-X',
})
const model = scriptedModel([{ toolCalls: [{ name: 'vault', input: {} }] }, { text: 'The code is 4711-X.' }])
const store = memoryStore()
const desk = createAgent({ name: 'desk', model, tools: [vault], store })
const { sessionId } = await desk.run('What is the code?', { principal: { id: 'ann' } })

const server = createServer({
  agents: [desk],
  store,
  authenticate: (request) => {
    const id = request.headers.get('authorization')?.replace('Bearer ', '')
    return id === undefined ? undefined : { id }
  },
  operator: ({ id }) => (id === 'olga' ? 'operate' : id === 'vera' ? 'view' : undefined),
})
async function get(path: string, as: string) {
  const headers = { authorization: `Bearer ${as}` }
  return server.fetch(new Request(`http://localhost/api/console/${path}`, { headers }))
}

const { sessions } = await (await get('sessions?q=code', 'vera')).json()
for (const { title, principal, status } of sessions) console.log(title, principal, status) // → What is the code? ann idle
for (const as of ['olga', 'vera']) {
  const text = await (await get(`session/${sessionId}/entries?from=1`, as)).text()
  console.log(as, text.includes('4711-X'), text.includes('[withheld: secret]'))
}
// → olga true false
// → vera false true
console.log((await get(`session/${sessionId}/index`, 'ann')).status) // → 404
await server.close()
