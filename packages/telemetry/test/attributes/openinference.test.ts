import { convertGenAISpanAttributesToOpenInferenceSpanAttributes as convert } from '@arizeai/openinference-genai'
import { SemanticConventions } from '@arizeai/openinference-semantic-conventions'
import { planAndExecute } from '@provost/teams'
import { expect, it } from 'vitest'

import { doneStep, lookStep, traced } from '../traced.ts'

it('OpenInference maps each span to its kind, and counts tokens once', async () => {
  const { agent, take } = traced(
    [{ text: '{"steps": ["look"]}' }, lookStep, { text: 'seen' }, doneStep],
    { orchestrator: planAndExecute() },
    { recordContent: true },
  )
  await agent.run('go')
  const retrieving = traced([lookStep, doneStep], {}, { retrievalTools: ['look'] })
  await retrieving.agent.run('go')
  const scripting = traced([lookStep, doneStep], {}, { sandboxTools: ['look'] })
  await scripting.agent.run('go')
  const spans = [...take(), ...retrieving.take(), ...scripting.take()]
  const converted = spans.map(({ name, attributes }) => ({ name, as: { ...convert(attributes) } }))
  const kinds = converted.map(({ name, as }) => [name, as[SemanticConventions.OPENINFERENCE_SPAN_KIND]])
  expect(kinds).toEqual([
    ['invoke_agent desk', 'AGENT'],
    ['chat scripted-model', 'LLM'],
    ['plan desk', 'AGENT'],
    ['invoke_workflow step 1 of 1', 'CHAIN'],
    ['chat scripted-model', 'LLM'],
    ['execute_tool look', 'TOOL'],
    ['chat scripted-model', 'LLM'],
    ['chat scripted-model', 'LLM'],
    ['invoke_agent desk', 'AGENT'],
    ['chat scripted-model', 'LLM'],
    ['retrieval look', 'RETRIEVER'],
    ['chat scripted-model', 'LLM'],
    ['invoke_agent desk', 'AGENT'],
    ['chat scripted-model', 'LLM'],
    ['execute_sandbox look', 'TOOL'],
    ['chat scripted-model', 'LLM'],
  ])
  const counted = converted.filter(({ as }) => SemanticConventions.LLM_TOKEN_COUNT_PROMPT in as)
  expect(new Set(counted.map(({ name }) => name))).toEqual(new Set(['chat scripted-model']))
  const [first] = counted
  expect(first?.as).toMatchObject({
    [SemanticConventions.LLM_TOKEN_COUNT_PROMPT]: 10,
    [SemanticConventions.LLM_MODEL_NAME]: 'scripted-model',
  })
})
