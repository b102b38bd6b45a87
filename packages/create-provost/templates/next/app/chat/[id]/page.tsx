import { headers } from 'next/headers'

import { agents } from '../../../server.ts'
import { Chat } from './chat.tsx'

/** A chat, with the messages that the server has of it. */
export default async function Page({ params }: { params: Promise<{ id: string }> }) {
  const { id } = await params
  const sent = new Headers(await headers())
  const response = await agents().fetch(
    new Request(`http://${sent.get('host')}/api/chat/${encodeURIComponent(id)}`, { headers: sent }),
  )
  const body = await response.json()
  if (!response.ok) return <p role="alert">{body.error.message}</p>
  return <Chat key={id} id={id} initial={body} />
}
