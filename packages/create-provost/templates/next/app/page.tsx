import { redirect } from 'next/navigation'
import { connection } from 'next/server'

/** Each visit begins a new chat. Its id is in the address, so that a reload finds it. */
export default async function Page() {
  await connection()
  redirect(`/chat/${crypto.randomUUID()}`)
}
