// A shell without a machine: commands run in an interpreter, on files in memory. Needs the package just-bash.
import { createAgent } from 'provost'
import { bashTool, fileTools, justBashRuntime } from 'provost/files'
import { scriptedModel } from 'provost/testing'

const runtime = justBashRuntime({
  files: { 'orders.csv': 'id,customer,euros\n17,ada,80\n18,bob,20\n19,ada,15\n', '.gitignore': '*.tmp\n' },
})

const model =
  process.env.PROVOST_MODEL ??
  scriptedModel([
    {
      toolCalls: [
        { name: 'bash', input: { command: 'grep ada orders.csv | cut -d, -f3 | paste -sd+ - | tee sum.txt' } },
      ],
    },
    { toolCalls: [{ name: 'edit', input: { path: 'sum.txt', oldText: '80+15', newText: '95' } }] },
    { toolCalls: [{ name: 'bash', input: { command: 'cat sum.txt /etc/shadow; node --version' } }] },
    { text: 'Ada ordered for 95 euros.' },
  ])

const agent = createAgent({ name: 'clerk', model, tools: [...fileTools, bashTool], runtime })
const stream = agent.stream('For how much did Ada order?')
for await (const event of stream) {
  if (event.type !== 'tool.execute.end' || event.output.type !== 'content') continue
  for (const part of event.output.value) if (part.type === 'text') console.log(part.text)
}
console.log((await stream.result).text)
// The files are there as long as the runtime is.
console.log(new TextDecoder().decode(await runtime.readFile('sum.txt')).trim())
// → 80+15
// → 95
// → [stderr]
// → cat: /etc/shadow: No such file or directory
// → bash: node: command not found
// → [exit code 127]
// → Ada ordered for 95 euros.
// → 95
