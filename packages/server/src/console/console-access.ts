import type { Principal, SessionStore } from '@provost/core'

import type { OperationSetup } from '../api/operation-setup.ts'
import type { HeldRole } from '../approvals/approver.ts'
import type { ConsoleRole } from '../console-answers/console-answer.ts'
import { HttpError, notOperator, unknownSession } from '../http/http-error.ts'
import type { Action } from '../options/server-options.ts'
import type { Ownership } from '../sessions/ownership.ts'
import { ownership } from '../sessions/ownership.ts'

/** A session that a principal may read in the console. */
export interface ReadSession {
  readonly id: string
  readonly role: HeldRole
  readonly owner: Ownership
}

/** The rights of the console. Each request asks for them anew. */
export interface ConsoleAccess {
  /** @throws HttpError 403 `not-operator`, `role-too-low`, `forbidden` */
  roleFor(principal: Principal, least: ConsoleRole, action?: Action): Promise<HeldRole>
  /**
   * Opens a session for reading, from the store alone. It neither leases nor resumes it.
   *
   * @throws HttpError 403 `role-too-low`, `forbidden`; 404 for principals without a role
   */
  session(
    principal: Principal,
    id: string,
    least?: ConsoleRole,
    kind?: 'read' | 'fork' | 'export' | 'forget',
  ): Promise<ReadSession>
  /** Whether a principal may read the session of a requester. */
  mayRead(principal: Principal, role: HeldRole, sessionId: string, requester: string | undefined): Promise<boolean>
}

const order: readonly ConsoleRole[] = ['view', 'decide', 'operate']

export function consoleAccess(
  { approver, allow, permits }: Pick<OperationSetup, 'approver' | 'allow' | 'permits'>,
  store: SessionStore,
  authorized: boolean,
): ConsoleAccess {
  const readsNothing = ({ needsAuthorize }: HeldRole): boolean => needsAuthorize && !authorized

  return {
    async roleFor(principal, least, action) {
      const held = await approver.roleOf(principal)
      if (!held) throw notOperator()
      if (order.indexOf(held.role) < order.indexOf(least)) throw roleTooLow(held.role, least)
      if (action) await allow(principal, action)
      return held
    },

    async session(principal, id, least = 'view', kind = 'read') {
      const role = await approver.roleOf(principal)
      const owner = role && (await ownership(store, id))
      if (!role || !owner) throw unknownSession(id)
      if (readsNothing(role) && owner.principal?.id !== principal.id) throw unknownSession(id)
      if (order.indexOf(role.role) < order.indexOf(least)) throw roleTooLow(role.role, least)
      const foreign = owner.principal?.id === principal.id ? undefined : owner.principal
      await allow(principal, { kind, sessionId: id, ...(foreign && { requester: foreign }) })
      return { id, role, owner }
    },

    async mayRead(principal, role, sessionId, requester) {
      const isOwn = requester === principal.id
      if (readsNothing(role) && !isOwn) return false
      if (!authorized) return true
      const owner = isOwn ? undefined : (await ownership(store, sessionId))?.principal
      return permits(principal, { kind: 'read', sessionId, ...(owner && { requester: owner }) })
    },
  }
}

function roleTooLow(role: ConsoleRole, least: ConsoleRole): HttpError {
  return new HttpError(403, {
    code: 'role-too-low',
    message: `This route requires the role ${least}; you have ${role}.`,
    hint: `Ask for the role ${least}: the \`operator\` function of createServer returns it.`,
  })
}
