import type { AnyNode } from 'acorn'

import { assignment, operators, update } from './rewrite-assignment.ts'
import type { RewriteContext } from './rewrite-context.ts'
import { branch, fresh, keyOf, mark, refuse, stepText, temp } from './rewrite-context.ts'
import { isFunction } from './syntax-tree.ts'

type Of<T extends AnyNode['type']> = Extract<AnyNode, { type: T }>

const unaries: Readonly<Record<string, string>> = { '!': 'not', '-': 'neg', '+': 'pos', '~': 'inv', typeof: 'ty' }

/** A list of arguments as an array. */
export function listOf(
  ctx: RewriteContext,
  items: readonly (AnyNode | null)[],
  joins: 'cat' | 'args' = 'args',
): string {
  if (!items.some((item) => item?.type === 'SpreadElement')) {
    return `[${items.map((item) => (item ? ctx.expression(item) : '')).join(', ')}${items.at(-1) === null ? ',' : ''}]`
  }
  const parts = items.map((item) => {
    if (item?.type === 'SpreadElement') return `$$.sp(${ctx.expression(item.argument)}, $$p)`
    return item ? `[${ctx.expression(item)}]` : '[void 0]'
  })
  return `$$.${joins}([${parts.join(', ')}])`
}

function call(ctx: RewriteContext, node: Of<'CallExpression'>): string {
  const { callee } = node
  if (callee.type === 'Super')
    return `($$.sup(${listOf(ctx, node.arguments)}, new.target), super(...$$.supArgs()), $$.supEnd(this))`
  if (callee.type === 'MemberExpression') {
    if (callee.object.type === 'Super') {
      const key = callee.computed ? `[$$.key(${ctx.expression(callee.property)})]` : `.${nameOf(callee.property)}`
      return `$$.c(super${key}, this, ${listOf(ctx, node.arguments)}, $$p)`
    }
    if (callee.property.type === 'PrivateIdentifier') {
      const self = temp(ctx)
      return `(${self} = ${ctx.expression(callee.object)}, $$.c(${privateGet(self, callee.property.name)}, ${self}, ${listOf(ctx, node.arguments)}, $$p))`
    }
    return `$$.m(${mark(node)}${ctx.expression(callee.object)}, ${keyOf(ctx, callee)}, ${listOf(ctx, node.arguments)}, $$p)`
  }
  return `$$.c(${mark(node)}${ctx.expression(callee)}, void 0, ${listOf(ctx, node.arguments)}, $$p)`
}

function nameOf(node: AnyNode): string {
  return node.type === 'Identifier' ? node.name : refuse(node, 'This member')
}

function privateGet(self: string, name: string): string {
  return `$$.jt($$.raw(${self}).#${name}, ${self})`
}

function member(ctx: RewriteContext, node: Of<'MemberExpression'>): string {
  if (node.object.type === 'Super') {
    const key = node.computed ? `[$$.key(${ctx.expression(node.property)})]` : `.${nameOf(node.property)}`
    return `super${key}`
  }
  if (node.property.type === 'PrivateIdentifier') {
    const self = temp(ctx)
    return `(${self} = ${ctx.expression(node.object)}, ${privateGet(self, node.property.name)})`
  }
  return `$$.g(${mark(node)}${ctx.expression(node.object)}, ${keyOf(ctx, node)}, $$p)`
}

/** A chain with `?.`: what follows an empty link is left out. */
function chain(ctx: RewriteContext, node: AnyNode, whole: AnyNode, then: (code: string) => string): string {
  const guarded = (code: string, rest: (code: string) => string) =>
    branch(ctx, whole, [whole], code, (value) => ({
      condition: `$$.nil(${value})`,
      yes: 'void 0',
      no: rest(value),
    }))
  if (node.type === 'MemberExpression' && node.object.type !== 'Super' && node.property.type !== 'PrivateIdentifier') {
    return chain(ctx, node.object, whole, (object) => {
      const get = (code: string) => then(`$$.g(${mark(node)}${code}, ${keyOf(ctx, node)}, $$p)`)
      return node.optional ? guarded(object, get) : get(object)
    })
  }
  if (
    node.type === 'CallExpression' &&
    node.callee.type === 'MemberExpression' &&
    node.callee.object.type !== 'Super'
  ) {
    const { callee } = node
    return chain(ctx, callee.object, whole, (object) => {
      const make = (code: string) => {
        if (!node.optional) {
          return then(`$$.m(${mark(node)}${code}, ${keyOf(ctx, callee)}, ${listOf(ctx, node.arguments)}, $$p)`)
        }
        const self = temp(ctx)
        const found = `(${self} = ${code}, $$.g(${self}, ${keyOf(ctx, callee)}, $$p))`
        return guarded(found, (fn) => then(`$$.c(${fn}, ${self}, ${listOf(ctx, node.arguments)}, $$p)`))
      }
      return callee.optional ? guarded(object, make) : make(object)
    })
  }
  if (node.type === 'CallExpression' && node.callee.type !== 'Super') {
    return chain(ctx, node.callee, whole, (fn) => {
      const make = (code: string) => then(`$$.c(${mark(node)}${code}, void 0, ${listOf(ctx, node.arguments)}, $$p)`)
      return node.optional ? guarded(fn, make) : make(fn)
    })
  }
  return then(ctx.expression(node))
}

function unary(ctx: RewriteContext, node: Of<'UnaryExpression'>): string {
  const { operator, argument } = node
  if (operator === 'void') return `(${ctx.expression(argument)}, void 0)`
  if (operator === 'delete') {
    if (argument.type !== 'MemberExpression') return refuse(node, 'delete of this')
    return `$$.del(${ctx.expression(argument.object)}, ${keyOf(ctx, argument)}, $$p)`
  }
  if (operator === 'typeof' && argument.type === 'Identifier' && !ctx.scopes.bindingOf(argument)) {
    return `(typeof ${argument.name} === 'undefined' ? 'undefined' : $$.ty(${argument.name}))`
  }
  return `$$.${unaries[operator] ?? 'not'}(${ctx.expression(argument)})`
}

function objectLiteral(ctx: RewriteContext, node: Of<'ObjectExpression'>): string {
  const simple = node.properties.every((one) => one.type === 'Property' && !one.computed && !isProto(one))
  if (simple)
    return `({ ${node.properties.map((one) => (one.type === 'Property' ? propertyText(ctx, one) : '')).join(', ')} })`
  const object = temp(ctx)
  const steps = node.properties.map((one) => {
    if (one.type === 'SpreadElement') return `$$.cp(${object}, ${ctx.expression(one.argument)}, $$p)`
    if (one.kind !== 'init') return refuse(one, 'An accessor beside a computed key')
    if (isProto(one)) return refuse(one, '__proto__')
    const key = one.computed ? ctx.expression(one.key) : propertyName(one.key)
    return `$$.put(${object}, ${key}, ${ctx.expression(one.value)}, $$p)`
  })
  return `(${[`${object} = {}`, ...steps, object].join(', ')})`
}

function isProto({ key, computed }: Of<'Property'>): boolean {
  return !computed && (key.type === 'Identifier' ? key.name : key.type === 'Literal' && key.value) === '__proto__'
}

function propertyName(key: AnyNode): string {
  if (key.type === 'Identifier') return JSON.stringify(key.name)
  return key.type === 'Literal' ? JSON.stringify(String(key.value)) : refuse(key, 'This name')
}

function propertyText(ctx: RewriteContext, { kind, key, value, method }: Of<'Property'>): string {
  const name = propertyName(key)
  if (kind !== 'init' && isFunction(value)) return `${kind} ${name}${ctx.functionRest(value)}`
  if (method && isFunction(value)) {
    return `${value.async ? 'async ' : ''}${value.generator ? '*' : ''}${name}${ctx.functionRest(value)}`
  }
  return `${name}: ${ctx.expression(value)}`
}

function yielded(ctx: RewriteContext, node: Of<'YieldExpression'>): string {
  const { argument, delegate } = node
  if (!delegate) return `(yield ${stepText(ctx.frame.node, argument ? ctx.expression(argument) : 'void 0')})`
  const value = temp(ctx)
  const inner = `${value} = yield* $$.gen(${argument ? ctx.expression(argument) : '[]'}, $$p)`
  return `(${inner}, $$y = $$.u($$y, $$.u($$p, $$.steps())), ${value})`
}

function template(ctx: RewriteContext, node: Of<'TemplateLiteral'>): string {
  const parts = node.quasis.flatMap((quasi, index) => {
    const text = JSON.stringify(quasi.value.cooked ?? '')
    const part = node.expressions[index]
    return part ? [text, ctx.expression(part)] : [text]
  })
  return parts.length === 1 ? (parts[0] ?? '""') : `$$.t([${parts.join(', ')}])`
}

function tagged(ctx: RewriteContext, node: Of<'TaggedTemplateExpression'>): string {
  const { quasis, expressions } = node.quasi
  const cooked = quasis.map(({ value }) => JSON.stringify(value.cooked ?? ''))
  const raw = quasis.map(({ value }) => JSON.stringify(value.raw))
  const strings = `$$.strings([${cooked.join(', ')}], [${raw.join(', ')}])`
  const args = [strings, ...expressions.map((one) => ctx.expression(one))]
  if (node.tag.type === 'MemberExpression') {
    return `$$.m(${ctx.expression(node.tag.object)}, ${keyOf(ctx, node.tag)}, [${args.join(', ')}], $$p)`
  }
  return `$$.c(${ctx.expression(node.tag)}, void 0, [${args.join(', ')}], $$p)`
}

function literal(node: Of<'Literal'>): string {
  if (typeof node.value === 'string') return JSON.stringify(node.value)
  return (node.raw ?? 'null').replaceAll('\u0001', String.raw`\x01`).replaceAll('\u0002', String.raw`\x02`)
}

function functionText(ctx: RewriteContext, node: AnyNode): string {
  if (!isFunction(node)) return refuse(node, node.type)
  const start = node.async ? 'async ' : ''
  if (node.type === 'ArrowFunctionExpression') return `(${start}${ctx.functionRest(node)})`
  return `(${start}function${node.generator ? '*' : ''} ${node.id?.name ?? ''}${ctx.functionRest(node)})`
}

/** The text of a class behind its name. */
export function classRest(ctx: RewriteContext, node: Of<'ClassDeclaration' | 'ClassExpression'>): string {
  const parts = node.body.body.map((one) => {
    if (one.type === 'StaticBlock') return refuse(one, 'A static block')
    const { key } = one
    const name =
      key.type === 'PrivateIdentifier'
        ? `#${key.name}`
        : one.computed
          ? `[$$.key(${ctx.expression(key)})]`
          : propertyName(key)
    const start = one.static ? 'static ' : ''
    if (one.type === 'PropertyDefinition') {
      if (!one.value) return `${start}${name};`
      const holder = fresh('f')
      // A value of a field is a function of its own, without a pc of the method around it.
      return `${start}${name} = ((${holder}) => ${fieldValue(ctx, one.value)})(0);`
    }
    const { value, kind } = one
    if (!isFunction(value)) return refuse(one, 'This method')
    const accessor = kind === 'get' || kind === 'set' ? `${kind} ` : ''
    const isConstructor = kind === 'constructor'
    return `${start}${value.async ? 'async ' : ''}${accessor}${value.generator ? '*' : ''}${isConstructor ? 'constructor' : name}${ctx.functionRest(value, isConstructor)}`
  })
  const base = node.superClass ? ` extends $$.base(${ctx.expression(node.superClass)})` : ''
  return `${base} { ${parts.join(' ')} }`
}

function fieldValue(ctx: RewriteContext, value: AnyNode): string {
  const outer = ctx.frame
  ctx.frame = { ...outer, temps: [], leavesEarly: false }
  const code = ctx.expression(value)
  const { temps } = ctx.frame
  ctx.frame = outer
  return `{ let $$p = $$.pc()${temps.map((name) => `, ${name}`).join('')}; return ${code} }`
}

/** Writes an expression with helpers in place of operators, members and calls. */
export function expressionText(ctx: RewriteContext, node: AnyNode): string {
  switch (node.type) {
    case 'Literal':
      return literal(node)
    case 'Identifier':
      return node.name
    case 'ThisExpression':
      return 'this'
    case 'TemplateLiteral':
      return template(ctx, node)
    case 'TaggedTemplateExpression':
      return tagged(ctx, node)
    case 'BinaryExpression':
      if (node.left.type === 'PrivateIdentifier') return `(#${node.left.name} in $$.raw(${ctx.expression(node.right)}))`
      return `$$.${operators[node.operator] ?? 'add'}(${ctx.expression(node.left)}, ${ctx.expression(node.right)})`
    case 'LogicalExpression': {
      const { left, right, operator } = node
      return branch(ctx, node, [right], ctx.expression(left), (value) => {
        const other = ctx.expression(right)
        if (operator === '&&') return { condition: `$$.y(${value})`, yes: other, no: value }
        if (operator === '||') return { condition: `$$.y(${value})`, yes: value, no: other }
        return { condition: `$$.nil(${value})`, yes: other, no: value }
      })
    }
    case 'ConditionalExpression': {
      const { test, consequent, alternate } = node
      return branch(ctx, node, [consequent, alternate], ctx.expression(test), (value) => ({
        condition: `$$.y(${value})`,
        yes: ctx.expression(consequent),
        no: ctx.expression(alternate),
      }))
    }
    case 'UnaryExpression':
      return unary(ctx, node)
    case 'UpdateExpression':
      return update(ctx, node)
    case 'AssignmentExpression':
      return assignment(ctx, node)
    case 'CallExpression':
      return call(ctx, node)
    case 'NewExpression':
      return `$$.n(${mark(node.callee)}${ctx.expression(node.callee)}, ${listOf(ctx, node.arguments)}, $$p)`
    case 'MemberExpression':
      return member(ctx, node)
    case 'ChainExpression':
      return chain(ctx, node.expression, node, (code) => code)
    case 'ArrayExpression':
      return listOf(ctx, node.elements, 'cat')
    case 'ObjectExpression':
      return objectLiteral(ctx, node)
    case 'SequenceExpression':
      return `(${node.expressions.map((one) => ctx.expression(one)).join(', ')})`
    case 'ArrowFunctionExpression':
    case 'FunctionExpression':
      return functionText(ctx, node)
    case 'ClassExpression':
      return `(class ${node.id?.name ?? ''}${classRest(ctx, node)})`
    case 'AwaitExpression': {
      const value = temp(ctx)
      return `(${value} = ${ctx.expression(node.argument)}, $$.jt(await $$.w(${value}), ${value}))`
    }
    case 'YieldExpression':
      return yielded(ctx, node)
    case 'ParenthesizedExpression':
      return ctx.expression(node.expression)
    case 'MetaProperty':
      return 'new.target'
    default:
      return refuse(node, node.type)
  }
}
