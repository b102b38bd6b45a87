import { MessageChannel, type MessagePort, receiveMessageOnPort } from 'node:worker_threads'

import fc from 'fast-check'
import { expect, it } from 'vitest'

import { mailboxMemory, receiver, sender } from '../../src/worker/shared-mailbox.ts'

function box() {
  const memory = mailboxMemory()
  const { port1, port2 } = new MessageChannel()
  const close = () => port1.close()
  return { send: sender(port1, memory), to: receiver(memory), port: port2, close }
}

function receive(port: MessagePort): unknown {
  const received: { message: unknown } | undefined = receiveMessageOnPort(port)
  return received?.message
}

it('a text goes into the mailbox of a polling receiver, and into a message for a sleeping one', () => {
  const { send, to, port, close } = box()
  expect(send('asleep')).toBe(false)
  expect(to.take()).toBeUndefined()
  expect(receive(port)).toBe('asleep')
  to.takeEarlier()
  to.setPolling(true)
  expect(send('awake')).toBe(true)
  expect(receive(port)).toBeUndefined()
  expect(to.take()).toBe('awake')
  expect(to.take()).toBeUndefined()
  close()
})

it.each(['x'.repeat(5000), 'naïve', '日本', '\ud800', ''])('any text arrives unchanged: %j', (text) => {
  const { send, to, port, close } = box()
  to.setPolling(true)
  send(text)
  expect(to.take() ?? receive(port)).toBe(text)
  close()
})

it('texts arrive in the order of sending, whenever the receiver polls, reads or sleeps', () => {
  const step = fc.constantFrom('send', 'send', 'send something long', 'take', 'receive', 'look', 'stop looking')
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const { send, to, port, close } = box()
      const heard: number[] = []
      let sent = 0
      const hear = (text: unknown) => {
        if (typeof text === 'string') heard.push(Number.parseInt(text, 10))
      }
      const all = {
        send: () => send(`${sent++}`),
        'send something long': () => send(`${sent++} ${'x'.repeat(5000)}`),
        take: () => hear(to.take()),
        receive() {
          const message = receive(port)
          if (message === undefined) return
          hear(to.takeEarlier())
          hear(message)
        },
        look: () => to.setPolling(true),
        'stop looking'() {
          to.setPolling(false)
          hear(to.take())
        },
      }
      for (const name of steps) all[name]()
      for (let i = 0; i <= sent; i++) all.receive()
      all.take()
      close()
      expect(heard).toEqual(Array.from({ length: sent }, (_, n) => n))
    }),
    { numRuns: 200 },
  )
})
