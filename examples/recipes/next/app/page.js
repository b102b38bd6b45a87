export default function Page() {
  return <p>my application</p>
}
