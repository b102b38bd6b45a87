import { scriptedModel } from 'provost/testing'

type Prompt = Parameters<Extract<Parameters<typeof scriptedModel>[0][number], (...args: never) => unknown>>[0]

/** The last message of the conversation: who wrote it, and what. */
function lastOf({ messages }: Prompt): { role: string; text: string } {
  const last = messages.at(-1)
  return { role: last?.role ?? 'user', text: JSON.stringify(last?.content ?? '') }
}

/** A model made of three rules, in place of a real one. It needs no key. */
export const scripted = () =>
  scriptedModel(
    [
      (prompt) => {
        const { role, text } = lastOf(prompt)
        const [, done] = /(refunded [\w ]+)/.exec(text) ?? []
        if (role === 'tool') return { text: done === undefined ? 'Then I do not refund it.' : `Done: ${done}.` }
        if (/refund/i.test(text)) {
          const [orderId = '17', amount = '80'] = text.match(/\d+/g) ?? []
          return { text: 'I refund that.', toolCalls: [{ name: 'refund', input: { orderId, amount: Number(amount) } }] }
        }
        return {
          text: words(
            'I am a scripted model, so I have one answer to everything, and I give it slowly: that leaves time to press Stop, or to reload the page in the middle. To see a tool that asks for approval, write "Refund order 17, 80 euros". To talk to a real model, set PROVOST_MODEL.',
          ),
          delayMs: 60,
        }
      },
    ],
    { after: 'repeat-last' },
  )

/** Streamed word by word. */
function words(text: string): string[] {
  return text.split(/(?<= )/)
}
