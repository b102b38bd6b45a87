import type { Entry, EntryOf, SessionStore } from '@provost/core'
import { scriptedModel } from '@provost/testing'
import type { ScriptedEntry, ScriptedPrompt, ScriptedStep } from '@provost/testing'

/** A model that plays its steps and keeps what it was asked. */
export function recorded(
  steps: readonly ScriptedStep[],
  modelId: string,
): { readonly model: ReturnType<typeof scriptedModel>; readonly prompts: ScriptedPrompt[] } {
  const prompts: ScriptedPrompt[] = []
  const entries = steps.map((step): ScriptedEntry => (prompt) => {
    prompts.push(prompt)
    return step
  })
  return { model: scriptedModel(entries, { modelId, after: 'repeat-last' }), prompts }
}

export function transferTo(name: string, message?: string): ScriptedStep {
  return { toolCalls: [{ name: `transfer_to_${name}`, input: message === undefined ? {} : { message } }] }
}

export async function logOf(store: SessionStore, sessionId: string): Promise<readonly Entry[]> {
  const entries: Entry[] = []
  for await (const entry of store.read(sessionId)) entries.push(entry)
  return entries
}

export function handoffsIn(entries: readonly Entry[]): readonly EntryOf<'handoff'>[] {
  return entries.filter((entry) => entry.type === 'handoff')
}

/** What a model was sent, as text. */
export function sent(prompt: ScriptedPrompt | undefined): string {
  return JSON.stringify(prompt?.messages)
}

/** A model that answers by what it is asked, whatever it was asked before. */
export function answering(answer: (text: string) => ScriptedStep): ReturnType<typeof scriptedModel> {
  return scriptedModel([(prompt) => answer(sent(prompt))], { after: 'repeat-last' })
}
